package reactor

import "sync"

// post is a function to run on a loop: for a connection, unless it has closed, or for the loop itself.
type post struct {
	c  *Conn
	fn func() // nil: resume c
}

// posts is the part of a loop that other goroutines reach: what they want run there, and its counters as of its last turn.
type posts struct {
	mu     sync.Mutex // never held during a call of the handler
	list   []post
	called bool // somebody is about to take the list
	ended  bool // no post is taken any more
	shown  counters
}

// add appends a post; call, under the lock, has the list taken. It returns false when the loop has ended.
func (q *posts) add(p post, call func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return false
	}
	q.list = append(q.list, p)
	if !q.called {
		q.called = true
		call()
	}
	return true
}

// take returns what is posted. With again the taker comes back by itself until there is nothing, and need not be called.
func (q *posts) take(again bool) []post {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	q.list = nil
	q.called = again && len(list) > 0
	return list
}

// end refuses further posts, unless there are some still to be taken or run: it returns false then.
func (q *posts) end() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = !q.called && len(q.list) == 0
	return q.ended
}

// show publishes the counters of a turn.
func (q *posts) show(k *counters) {
	q.mu.Lock()
	q.shown = *k
	q.mu.Unlock()
}

// sum adds the published counters to k.
func (q *posts) sum(k *counters) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k.add(&q.shown)
}

// resume ends Pause on the loop of c.
func (c *Conn) resume() {
	if c.state&statePaused == 0 {
		return
	}
	c.state &^= statePaused
	if c.in.Len() > 0 {
		c.state |= stateMore
	}
}
