// The rows, their field lists, and the names that are fixed.
#include "record/record.hpp"

#include <set>

#include "record/csv.hpp"
#include "record/support.hpp"

using namespace attnscale;
using namespace attnscale::test;

TEST_CASE("every outcome has a name that parses back") {
  for (const Outcome outcome : {Outcome::ok, Outcome::unsupported, Outcome::incorrect, Outcome::over_budget,
                                Outcome::timeout, Outcome::failed}) {
    CHECK(parse_outcome(name_of(outcome)) == outcome);
  }
  CHECK(message_of<InputError>([] { parse_outcome("incorect"); }) ==
        "unknown status 'incorect'; did you mean 'incorrect'?");
}

TEST_CASE("the columns of the design stand first, in its order") {
  CHECK(
      csv_header<Record>().rfind(
          "schema_version,study,cell_id,method,name,contract,status,reason,"
          "batch,heads,kv_heads,queries,keys,dim,value_dim,mask,input,input_hash,temperature,seed,threads,simd_target,"
          "samples,time_ns_median,time_ns_min,time_ns_mad,time_ns_ci_low,time_ns_ci_high,plan_ns_median,ratio_to_exact,"
          "ratio_ci_low,ratio_ci_high,gflops,peak_share,"
          "visible_pairs,scored_pairs,flops,bytes_moved,window_keys,padded_n,exact_fallback,"
          "workspace_bytes_predicted,workspace_bytes_counted,resident_bytes,"
          "impl_error,impl_ratio,error_rows,empty_rows,rel_fro,max_abs,cosine_mean,cosine_p1,mass_recall_mean,mass_"
          "recall_min,"
          "top64_recall,error_bound,bound_held,error_reference,rel_fro_reference,"
          "warnings,host,git_commit,dirty,config_hash,repro,",
          0) == 0);
  CHECK(csv_header<SampleRow>() == "cell_id,round,order,start_ns,iterations,time_ns\n");
  CHECK(csv_header<StageRow>() == "cell_id,round,stage,time_ns\n");
  CHECK(csv_header<FitRow>().rfind(
            "method,quantity,class,classes_ambiguous,coefficient,intercept,exponent,exponent_ci_low,"
            "exponent_ci_high,n_min,n_max,sizes,verdict",
            0) == 0);
}

TEST_CASE("fields are unique, documented, and optional only in the last group") {
  std::set<std::string_view> names;
  for (const FieldInfo& field : fields_of<Record>()) {
    INFO(field.name);
    CHECK(names.insert(field.name).second);
    CHECK_FALSE(field.doc.empty());
    CHECK_FALSE(field.group.empty());
    CHECK(field.required == (field.group != "Further"));
    // Units stand in names.
    if (field.unit == "ns") CHECK(contains(std::string(field.name), "_ns"));
    if (field.unit == "B") CHECK(contains(std::string(field.name), "bytes"));
  }
  CHECK(Record{}.schema_version == kSchemaVersion);
}
