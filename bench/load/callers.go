package load

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Kinds of callers: one; so many, each as busy as the others; as many, of which few send most (Zipf's law with the
// exponent 1.1: of 100,000 the busiest sends 13%, the first hundred 58%).
const (
	Hot  = "hot"
	Many = "many"
	Mix  = "mix"
)

// Callers names the caller of each request, drawn from a number of them by a seed. All names are equally long.
func Callers(kind string, number int, seed uint64) (func() string, error) {
	if number < 1 || number > 10_000_000 {
		return nil, fmt.Errorf("%d callers; give 1 to 10,000,000", number)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	switch kind {
	case Hot:
		name := CallerName(0)
		return func() string { return name }, nil
	case Many:
		return func() string { return CallerName(r.IntN(number)) }, nil
	case Mix:
		z := rand.NewZipf(r, 1.1, 1, uint64(number-1))
		return func() string { return CallerName(int(z.Uint64())) }, nil
	}
	return nil, fmt.Errorf("there are no callers %q; choose from %s, %s, %s", kind, Hot, Many, Mix)
}

// CallerName is how the caller of a number, from 0 on, is called.
func CallerName(i int) string { return "u" + strconv.Itoa(10_000_000+i) }
