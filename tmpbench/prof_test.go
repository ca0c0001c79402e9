package tmpbench
import ("testing";"os";"context";"fmt";"sort"
"github.com/tetratelabs/wazero/api"
"github.com/tetratelabs/wazero/experimental"
hosttest "routelimit/host-test")
var on bool
type fl struct{ calls map[string]int }
type one struct{ f *fl; n string }
func (f *fl) NewFunctionListener(d api.FunctionDefinition) experimental.FunctionListener { n:=d.DebugName(); return &one{f,n} }
func (o *one) Before(ctx context.Context, m api.Module, d api.FunctionDefinition, p []uint64, s experimental.StackIterator){ if on {o.f.calls[o.n]++} }
func (o *one) After(context.Context, api.Module, api.FunctionDefinition, []uint64){}
func (o *one) Abort(context.Context, api.Module, api.FunctionDefinition, error){}
func TestProf(t *testing.T){
 b,_:=os.ReadFile(os.Getenv("WASM"))
 f:=&fl{map[string]int{}}
 ctx:=experimental.WithFunctionListenerFactory(context.Background(), f)
 m,err:=hosttest.Compile(ctx,b); if err!=nil{t.Fatal(err)}
 red:=&hosttest.Scripted{Reply: func(c [][]byte) []byte { return []byte("*6\r\n:1\r\n:1796124187000\r\n:1\r\n:9999\r\n:75\r\n:0\r\n")}}
 h:=hosttest.NewHost(m,hosttest.Options{Clusters: map[string]hosttest.Backend{"routelimit":red}})
 vm,err:=h.NewVM(ctx); if err!=nil{t.Fatal(err)}
 p,err:=vm.NewPlugin([]byte(`{"identities":{"user":{"from":"header:x-user"}},"redis":{"timeout":"1s"},"routes":{"GET /x":{"identity":"user","limit":1000000000,"window":"60s"}},"default":null}`)); if err!=nil{t.Fatal(err)}
 run:=func(n int){
  for i:=0;i<n;i++{
   s:=p.Request(hosttest.RequestHeaders("GET","a","/x",[]string{"x-user: a","user-agent: wrk"}...),nil)
   for red.Pending()>0 { red.Deliver() }
   s.Respond(hosttest.Response{Headers: hosttest.Headers{{":status","200"}}})
  }
 }
 run(200); on=true; run(500); on=false
 type kv struct{k string;v int}
 var l []kv; tot:=0
 for k,v:=range f.calls { l=append(l,kv{k,v}); tot+=v }
 sort.Slice(l,func(i,j int)bool{return l[i].v>l[j].v})
 fmt.Println("calls/request", float64(tot)/500, "distinct", len(l))
 for _,x:=range l { fmt.Printf("%6.1f %s\n", float64(x.v)/500, x.k) }
}
