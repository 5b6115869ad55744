#include "depute/program/name_scope.h"

#include "support/names/interned.h"

namespace depute {
namespace {

thread_local NameScope::Data* last_used = nullptr;  // by this thread

}  // namespace

internal::Scope* internal::scope_in_use() {
  return last_used;
}

NameScope::Data::~Data() {
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (internal::AnyTable* table = tables[i]) table->release(used[i]);
  }
}

NameScope NameScope::make() {
  return NameScope(std::make_shared<Data>());
}

NameScope NameScope::current() {
  return last_used == nullptr ? NameScope() : NameScope(last_used->shared_from_this());
}

NameScope NameScope::current_or_new() {
  return last_used == nullptr ? make() : current();
}

NameScope NameScope::copy() const {
  NameScope made = make();
  if (data_ != nullptr) made.keep(*this);
  return made;
}

void NameScope::keep(const NameScope& other) {
  if (data_ == other.data_ || other.data_ == nullptr) return;
  if (data_ == nullptr) {
    data_ = other.data_;
    return;
  }
  for (std::size_t i = 0; i < data_->used.size(); ++i) {
    if (internal::AnyTable* table = Data::tables[i]) table->keep(*data_, other.data_->used[i]);
  }
}

NameScope::Use::Use(NameScope scope) : scope_(std::move(scope)), before_(last_used) {
  last_used = scope_.data_.get();
}

NameScope::Use::~Use() {
  last_used = before_;
}

}  // namespace depute
