module github.com/larder-cache/larder/bench

go 1.26.0

replace github.com/larder-cache/larder => ../

require (
	github.com/VictoriaMetrics/fastcache v1.13.2
	github.com/allegro/bigcache/v3 v3.1.0
	github.com/coocood/freecache v1.2.7
	github.com/dgraph-io/ristretto/v2 v2.4.2
	github.com/larder-cache/larder v0.0.0
	github.com/maypok86/otter/v2 v2.4.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/golang/snappy v1.0.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)
