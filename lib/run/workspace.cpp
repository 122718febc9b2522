#include <cassert>
#include <cstring>
#include <new>

#include "run/workspace_impl.hpp"

namespace attnscale {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

void Workspace::Impl::Free::operator()(std::byte* data) const {
  ::operator delete[](data, kAlignment);
}

Workspace::Workspace(const Plan& plan, int threads, std::optional<std::byte> fill) : impl_(std::make_unique<Impl>()) {
  assert(threads >= 1);
  impl_->shared_bytes = plan.scratch.shared_bytes();
  impl_->worker_bytes = plan.scratch.worker_bytes();
  impl_->threads = threads;
  const auto size = static_cast<std::size_t>(impl_->bytes());
  if (size == 0) return;
  impl_->data.reset(static_cast<std::byte*>(::operator new[](size, kAlignment)));
  if (fill) std::memset(impl_->data.get(), std::to_integer<int>(*fill), size);
}

Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

std::int64_t Workspace::bytes() const {
  return impl_->bytes();
}

}  // namespace attnscale
