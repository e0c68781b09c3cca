// A result, or the reason why there is none.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/alternative.h"
#include "support/error.h"

namespace tcc::sched {

struct Refusal {
  std::string reason;  // a short sentence with facts: "a row of 70000 elements does not fit ..."
  // The region lacks the kind of op that the template is for (a reduction, a sort), so that the
  // reason says nothing about the region.
  bool other_kind = false;
  // No template has kernels for such a device.
  bool of_device = false;
  // Other graphs for the anchor's results, which kernels compute: without a `none`.
  std::vector<Alternative> alternatives = {};
  // The name of the template that refuses; "": a rule for all of them.
  std::string by = {};

  // Returns the reason with its kind before it: "contraction: REASON", or "rule: REASON".
  std::string reason_by() const {
    const std::string kind = str(by.empty() ? "rule" : by, ": ");
    return reason.starts_with(kind) ? reason : kind + reason;
  }
};

template <class T>
class OrRefusal {
 public:
  template <class U>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): no OrRefusal is a T
  requires std::convertible_to<U, T> OrRefusal(U&& value) : value_(std::forward<U>(value)) {}
  OrRefusal(Refusal refusal) : refusal_(std::move(refusal)) {}

  explicit operator bool() const { return value_.has_value(); }
  T& operator*() & { return checked(*this); }
  T&& operator*() && { return std::move(checked(*this)); }
  T* operator->() { return &checked(*this); }
  const T& operator*() const& { return checked(*this); }
  const T* operator->() const { return &checked(*this); }
  // The reason why there is no result; TCC_CHECKs that there is none.
  const Refusal& refusal() const {
    TCC_CHECK(!value_, "there is no refusal");
    return refusal_;
  }
  const std::string& reason() const { return refusal().reason; }
  std::string reason_by() const { return refusal().reason_by(); }

 private:
  static auto& checked(auto& self) {
    TCC_CHECK(self.value_, self.refusal_.reason);
    return *self.value_;
  }

  std::optional<T> value_;
  Refusal refusal_;
};

}  // namespace tcc::sched
