// OpenVINO's scaled_dot_product_attention on the CPU, in fp32, as a plugin. The model is compiled in plan(); a call
// sets the pointers of inputs and output, without a copy, and infers. One stream, as many threads as we are given, no
// pinning. Idle threads are oneTBB's, which sleep after a short while by themselves. OpenVINO gives no log-sum-exp.
#include <cmath>
#include <exception>
#include <memory>
#include <string>

#include <openvino/op/constant.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>
#include <openvino/op/scaled_dot_product_attention.hpp>
#include <openvino/openvino.hpp>

#include "attnscale_plugin.h"

namespace {

using ov::op::v0::Constant;
using ov::op::v0::Parameter;
using Sdpa = ov::op::v13::ScaledDotProductAttention;

struct Prepared {
  ov::CompiledModel model;
  ov::InferRequest request;
  ov::Shape query, key, value, out;
};

// Made once and never destroyed: its own teardown at the end of a process has an order of its own.
ov::Core& core() {
  static ov::Core* const core = new ov::Core;
  return *core;
}

// A text of the last failure; it lives until the next one.
const char* failure(const std::exception& error) {
  static std::string text;
  text = error.what();
  return text.c_str();
}

ov::Shape shape_of(int64_t batch, int64_t heads, int64_t rows, int64_t width) {
  return {static_cast<size_t>(batch), static_cast<size_t>(heads), static_cast<size_t>(rows),
          static_cast<size_t>(width)};
}

std::shared_ptr<ov::Model> model_of(const attnscale_problem& p, const Prepared& prepared) {
  const auto parameter = [](const ov::Shape& shape) { return std::make_shared<Parameter>(ov::element::f32, shape); };
  const auto scalar = [](float value) { return Constant::create(ov::element::f32, ov::Shape{}, {value}); };
  const auto q = parameter(prepared.query);
  const auto k = parameter(prepared.key);
  const auto v = parameter(prepared.value);
  const bool causal = p.causal != 0;
  const bool usual_scale = std::abs(p.scale * std::sqrt(static_cast<double>(p.dim)) - 1) < 1e-12;
  std::shared_ptr<Sdpa> attention;
  if (usual_scale) {
    attention = std::make_shared<Sdpa>(q, k, v, causal);
  } else {  // a mask must stand before the scale: that of one zero changes nothing
    attention = std::make_shared<Sdpa>(q, k, v, scalar(0), scalar(static_cast<float>(p.scale)), causal);
  }
  return std::make_shared<ov::Model>(ov::OutputVector{attention}, ov::ParameterVector{q, k, v});
}

const char* unsupported(const attnscale_problem* p, const int64_t*) {
  if (p->heads != p->kv_heads)
    return "heads that share keys and values are not tried with OpenVINO: use as many kv-heads";
  if (p->causal != 0 && p->queries != p->keys)
    return "OpenVINO aligns a causal mask at the first key, not at the last: use as many queries as keys";
  return nullptr;
}

void* prepare(const attnscale_problem* p, const int64_t*, int32_t threads, const char** error) try {
  auto made = std::make_unique<Prepared>();
  made->query = shape_of(p->batch, p->heads, p->queries, p->dim);
  made->key = shape_of(p->batch, p->kv_heads, p->keys, p->dim);
  made->value = shape_of(p->batch, p->kv_heads, p->keys, p->value_dim);
  made->out = shape_of(p->batch, p->heads, p->queries, p->value_dim);
  made->model =
      core().compile_model(model_of(*p, *made), "CPU", ov::inference_num_threads(threads), ov::num_streams(1),
                           ov::hint::enable_cpu_pinning(false), ov::hint::inference_precision(ov::element::f32),
                           ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY));
  made->request = made->model.create_infer_request();
  return made.release();
} catch (const std::exception& caught) {
  *error = failure(caught);
  return nullptr;
}

// OpenVINO's tensors are not const, its inputs are not written.
template <class Rows>
ov::Tensor tensor_of(const ov::Shape& shape, const Rows& rows) {
  const auto bytes = [](int64_t elements) { return static_cast<size_t>(elements) * sizeof(float); };
  return {ov::element::f32, shape, const_cast<float*>(rows.data),
          ov::Strides{bytes(rows.batch_stride), bytes(rows.head_stride), bytes(rows.row_stride), sizeof(float)}};
}

const char* run(void* plan, const attnscale_call* call) try {
  Prepared& prepared = *static_cast<Prepared*>(plan);
  ov::InferRequest& request = prepared.request;
  request.set_input_tensor(0, tensor_of(prepared.query, call->q));
  request.set_input_tensor(1, tensor_of(prepared.key, call->k));
  request.set_input_tensor(2, tensor_of(prepared.value, call->v));
  request.set_output_tensor(tensor_of(prepared.out, call->out));
  request.infer();
  return nullptr;
} catch (const std::exception& caught) {
  return failure(caught);
}

void release(void* plan) {
  delete static_cast<Prepared*>(plan);
}

attnscale_method make_sdpa() {
  attnscale_method method{};
  method.size = sizeof(method);
  method.contract = ATTNSCALE_EXACT;
  method.flags = ATTNSCALE_NO_LSE;
  method.name = "openvino.sdpa";
  method.summary = "scaled_dot_product_attention of OpenVINO, fp32, on the CPU";
  method.paper = "docs.openvino.ai, ScaledDotProductAttention-13";
  method.complexity = "O(n^2)";
  method.unsupported = unsupported;
  method.plan = prepare;
  method.run = run;
  method.release = release;
  return method;
}

}  // namespace

const attnscale_plugin* attnscale_plugin_v1() {
  static const std::string library = std::string("OpenVINO ") + ov::get_openvino_version().buildNumber;
  static const attnscale_method sdpa = make_sdpa();
  static const attnscale_method* const methods[] = {&sdpa};
  static const attnscale_plugin table = {
      ATTNSCALE_PLUGIN_ABI, sizeof(attnscale_plugin), library.c_str(), 1, 0, methods};
  return &table;
}
