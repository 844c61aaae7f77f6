package limit_test

import (
	"fmt"
	"net/http"

	"github.com/fanin-sim/fanin/go/limit"
)

// A client whose responses, from whatever servers, share the host's link.
func Example() {
	shared := limit.New(limit.Default())
	client := http.Client{Transport: &limit.Transport{Limit: shared}}
	_ = client
	fmt.Println(shared.Figures().InFlight)
	// Output: 0
}
