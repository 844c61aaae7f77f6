module github.com/fanin-sim/fanin/go/limit

go 1.21
