module github.com/larder-cache/larder

go 1.26.0

require golang.org/x/sys v0.50.0 // indirect
