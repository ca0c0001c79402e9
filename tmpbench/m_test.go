package tmpbench
import ("testing";"os";"context";"fmt";"time"
hosttest "routelimit/host-test")
func TestX(t *testing.T){
 for _, f := range []string{"../build/routelimit.wasm"} {
 b,_:=os.ReadFile(f)
 ctx:=context.Background()
 m,err:=hosttest.Compile(ctx,b); if err!=nil{t.Fatal(err)}
 red:=&hosttest.Scripted{Reply: func(c [][]byte) []byte { return []byte("*6\r\n:1\r\n:1796124187000\r\n:1\r\n:9999\r\n:75\r\n:0\r\n")}}
 h:=hosttest.NewHost(m,hosttest.Options{Clusters: map[string]hosttest.Backend{"routelimit":red}})
 vm,err:=h.NewVM(ctx); if err!=nil{t.Fatal(err)}
 p,err:=vm.NewPlugin([]byte(`{"identities":{"user":{"from":"header:x-user"}},"redis":{"timeout":"1s"},"routes":{"GET /x":{"identity":"user","limit":1000000000,"window":"60s"}},"default":null}`)); if err!=nil{t.Fatal(err)}
 run:=func(n,par int){
  st:=time.Now()
  for i:=0;i<n;i+=par{
   var ss []*hosttest.Stream
   for j:=0;j<par;j++{ s:=p.Request(hosttest.RequestHeaders("GET","a","/x",),nil); ss=append(ss,s)}
   for red.Pending()>0 { red.Deliver() }
   for _,s:=range ss { s.Respond(hosttest.Response{Headers: hosttest.Headers{{":status","200"}}}) ; if s.Status()!="200" {t.Fatal(s.Status())}}
  }
  fmt.Println(par, time.Since(st)/time.Duration(n), vm.MemorySize()); for _,c:=range []string{"proxy_set_tick_period_milliseconds","proxy_set_effective_context","clock_time_get","proxy_record_metric","proxy_increment_metric","proxy_get_property","proxy_get_header_map_pairs","proxy_grpc_send","proxy_get_buffer_bytes","proxy_get_current_time_nanoseconds"} {fmt.Print(" ",c," ",vm.Calls(c))}; fmt.Println()
 }
 run(2000,1); run(20000,1); run(20000,8); run(20000,64)
 }
}
