#include "cases.hpp"

#include <map>
#include <string>

#include "harness.hpp"

namespace attnscale::test {
namespace {

// The first of each list is the one that few_specs() takes.
const std::map<std::string, std::vector<std::string>>& special_parameters() {
  static const std::map<std::string, std::vector<std::string>> table = {
      {"window",
       {"w=4", "w=0", "w=1", "w=17", "w=64", "w=3,dilation=2", "w=9,dilation=5", "w=4,edge=shift", "w=0,edge=shift",
        "w=3,dilation=4,edge=shift", "w=40,edge=shift"}},
      {"window2d", {"r=2", "r=0", "r=9", "height=10,width=10", "height=13,width=5", "r=3,height=1"}},
      {"longformer",
       {"w=4,globals=first:1", "w=4,globals=first:0", "w=0,globals=first:3", "w=6,globals=first:20",
        "w=3,globals=first:2,dilation=2", "w=8,globals=first:500"}},
      {"bigbird",
       {"block=8", "block=4,window=1,global=1,random=2", "block=7,window=5,global=3,random=1",
        "block=16,window=3,global=0,random=0", "block=1,window=3,global=2,random=4",
        "block=5,window=1,global=9,random=90"}},
      {"hierarchical",
       {"block=8", "block=1", "block=7,levels=3", "levels=3", "levels=4", "block=2,levels=5", "block=1000",
        "block=3,levels=2"}},
      {"hierarchical.select",
       {"block=8,blocks=3", "block=7,blocks=1", "block=16,blocks=2", "block=1,blocks=5", "blocks=99", "block=1000"}},
      {"topk", {"k=5", "k=1", "k=16", "k=17", "k=1000"}},
      {"lsh",
       {"rounds=2,bucket=8", "rounds=1,bucket=16", "rounds=3,bucket=5", "rounds=2,bucket=1", "rounds=9,bucket=2",
        "bucket=1000", "rounds=4,bucket=16,qk=shared", "rounds=1,bucket=7,qk=shared", "rounds=2,bucket=1,qk=shared",
        "bucket=1000,qk=shared", "qk=shared"}},
      {"strided", {"l=5", "l=1", "l=16", "l=64", "l=1000"}},
  };
  return table;
}

}  // namespace

std::vector<MethodSpec> specs_of(const Method& method) {
  const std::string name(method.name);
  std::vector<MethodSpec> specs = {spec_of(name)};
  const auto special = special_parameters().find(name);
  if (special == special_parameters().end()) return specs;
  for (const std::string& parameters : special->second) specs.push_back(spec_of(name + ":" + parameters));
  return specs;
}

std::vector<MethodSpec> all_specs() {
  std::vector<MethodSpec> specs;
  for (const Method* method : catalog()) {
    for (MethodSpec& spec : specs_of(*method)) specs.push_back(std::move(spec));
  }
  return specs;
}

std::vector<MethodSpec> few_specs() {
  std::vector<MethodSpec> specs;
  for (const Method* method : catalog()) {
    std::vector<MethodSpec> all = specs_of(*method);
    specs.push_back(all[0]);
    if (all.size() > 1) specs.push_back(all[1]);
  }
  specs.push_back(spec_of("lsh:rounds=3,bucket=8,qk=shared"));
  return specs;
}

Problem problem_of(const std::string& text) {
  return Problem::parse(text);
}

Problem square(std::int64_t n, Mask mask, std::int64_t dim) {
  Problem problem;
  problem.shape.queries = n;
  problem.shape.keys = n;
  problem.shape.dim = dim;
  problem.shape.value_dim = dim;
  problem.mask = mask;
  return problem;
}

std::vector<Problem> odd_problems() {
  std::vector<Problem> problems;
  for (const char* text : {
           "queries=1,keys=1,dim=64,value_dim=64",
           "queries=1,keys=1,dim=1,value_dim=3,mask=causal,heads=2",
           "queries=2,keys=2,dim=8,value_dim=8",
           "queries=2,keys=2,dim=33,value_dim=1,mask=causal",
           "queries=7,keys=7,dim=33,value_dim=8,batch=2,heads=2,kv_heads=2",
           "queries=7,keys=7,dim=8,value_dim=33,mask=causal",
           "queries=15,keys=15,dim=1,value_dim=1",
           "queries=16,keys=16,dim=130,value_dim=130",
           "queries=16,keys=16,dim=8,value_dim=130,mask=causal,heads=2,kv_heads=1",
           "queries=17,keys=17,dim=64,value_dim=33,mask=causal,temperature=0.5",
           "queries=63,keys=63,dim=8,value_dim=8,heads=4,kv_heads=2,mask=causal",
           "queries=64,keys=64,dim=33,value_dim=64,seed=5",
           "queries=65,keys=65,dim=130,value_dim=8,mask=causal",
           "queries=65,keys=65,dim=8,value_dim=16,batch=2,seed=9,scale=0.3",
           "queries=100,keys=100,dim=16,value_dim=24",
           "queries=100,keys=100,dim=16,value_dim=24,mask=causal,first_head=3",
           "queries=127,keys=127,dim=8,value_dim=1",
           "queries=129,keys=129,dim=64,value_dim=64,mask=causal",
           "queries=129,keys=129,dim=3,value_dim=5,heads=3,kv_heads=1",
           "queries=200,keys=200,dim=4,value_dim=4,mask=causal,seed=2",
           "queries=257,keys=257,dim=2,value_dim=2",
           // A cache of keys before the queries, and queries that see no key at all.
           "queries=1,keys=65,dim=33,value_dim=8,mask=causal",
           "queries=1,keys=130,dim=8,value_dim=8",
           "queries=17,keys=100,dim=8,value_dim=8,mask=causal,heads=2,kv_heads=1",
           "queries=17,keys=64,dim=16,value_dim=8",
           "queries=65,keys=1,dim=8,value_dim=8,mask=causal",
           "queries=100,keys=17,dim=33,value_dim=8,mask=causal,batch=2",
           "queries=65,keys=31,dim=8,value_dim=8",
           "queries=129,keys=128,dim=8,value_dim=8,mask=causal",
       }) {
    problems.push_back(problem_of(text));
  }
  return problems;
}

std::vector<Problem> few_problems() {
  return {problem_of("queries=1,keys=1,dim=5,value_dim=3"),
          problem_of("queries=65,keys=65,dim=33,value_dim=9,heads=4,kv_heads=2,batch=2"),
          problem_of("queries=100,keys=100,dim=8,value_dim=8,heads=2,kv_heads=1,mask=causal"),
          problem_of("queries=129,keys=129,dim=16,value_dim=16"),
          problem_of("queries=33,keys=130,dim=130,value_dim=4,mask=causal"),
          problem_of("queries=130,keys=33,dim=8,value_dim=130,mask=causal")};
}

}  // namespace attnscale::test
