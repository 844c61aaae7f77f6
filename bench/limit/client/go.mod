module github.com/fanin-sim/fanin/bench/limit/client

go 1.21

require (
	github.com/bradfitz/gomemcache v0.0.0-20260422231931-4d751bb6e37c
	github.com/fanin-sim/fanin/go/limit v0.0.0
)

replace github.com/fanin-sim/fanin/go/limit => ../../../go/limit
