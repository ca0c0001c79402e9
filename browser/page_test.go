//go:build browser

package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// The widths of a phone and of a screen.
const (
	phone  = 390
	screen = 1280
)

// chromium starts one browser for a test, of CHROMIUM= or from the PATH.
func chromium(t *testing.T) context.Context {
	t.Helper()
	binary := os.Getenv("CHROMIUM")
	if binary == "" {
		var err error
		if binary, err = exec.LookPath("chromium"); err != nil {
			t.Fatal("no Chromium is found; install the package chromium, or set CHROMIUM= to its path")
		}
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(binary), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), flags...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	return ctx
}

// tab is one page in the browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu      sync.Mutex
	trouble []string // that the page's console tells of
}

// open opens a page in a window of that width, in dark or light colours.
func open(t *testing.T, browser context.Context, url string, width int64, scheme string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	console := chromedp.Console(ctx)
	go func() {
		for message, err := range console {
			if err == nil {
				b.note(message.String())
			}
		}
	}()
	b.do(chromedp.EmulateViewport(width, 900, emulationOf(width)))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatal(err)
	}
	// Without this a page in a window behind another one is hidden, and asks for nothing.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(url))
	return b
}

// emulationOf lets a narrow window be a phone's, which obeys the page's viewport.
func emulationOf(width int64) chromedp.EmulateViewportOption {
	if width == phone {
		return chromedp.EmulateMobile
	}
	return chromedp.EmulateLandscape
}

func (b *tab) note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trouble = append(b.trouble, text)
}

func (b *tab) console() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.trouble, "\n")
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// patience is how long a page may take for anything.
const patience = 20 * time.Second

// eval is the value of an expression in the page.
func eval[T any](b *tab, expression string) (value T) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// until waits for a condition in the page.
func (b *tab) until(condition string) {
	b.t.Helper()
	for end := time.Now().Add(patience); !eval[bool](b, condition); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%s did not come true; the page says:\n%s\nand its console:\n%s", condition, eval[string](b, "document.body.innerText"), b.console())
		}
	}
}

// sound fails the test where the page has plots that lie outside of it, has to be scrolled sideways, or its console says
// something. With SCREENSHOTS= a picture of it is kept in that folder.
func (b *tab) sound(name string) {
	b.t.Helper()
	if folder := os.Getenv("SCREENSHOTS"); folder != "" {
		picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		if err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	if wide := eval[int](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
		b.t.Errorf("%s is %d pixels too wide: %s", name, wide, eval[string](b, `[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 80)).slice(0, 3).join('\n')`))
	}
	const hidden = `[...document.querySelectorAll('svg')].filter(s => { const r = s.getBoundingClientRect(); return r.width < 100 || r.height < 40 || r.right > innerWidth }).length`
	if plots := eval[int](b, "document.querySelectorAll('svg').length"); plots == 0 {
		b.t.Errorf("%s has no plot", name)
	} else if n := eval[int](b, hidden); n > 0 {
		b.t.Errorf("%s: %d of %d plots cannot be seen", name, n, plots)
	}
	if said := b.console(); said != "" {
		b.t.Errorf("%s: the console says:\n%s", name, said)
	}
}
