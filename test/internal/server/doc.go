// Package server runs the programs that the black-box tests talk to.
//
// A test calls Start for the server under test, the real larder binary built
// once per test process by Main, and Redis for Debian's redis-server, which
// says what the right reply is. Both get a free port and a folder of their own
// and are stopped when the test ends; a larder that does not leave with exit
// code 0 fails the test that started it, and its log is printed.
//
// Readiness is seen from outside: a server is ready when it accepts a
// connection and answers PING. Environment variables change what runs:
//
//	LARDER_BINARY       use this binary; nothing is built
//	LARDER_TEST_FLAGS   more flags of larder serve for every start
//	LARDER_TEST_SERVER  "redis" puts redis-server in larder's place, to check
//	                    the tests themselves against the reference
package server
