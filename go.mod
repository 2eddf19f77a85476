module github.com/larder-cache/larder

go 1.26.0

require (
	github.com/pelletier/go-toml/v2 v2.4.3 // indirect
	golang.org/x/sys v0.50.0 // indirect
)
