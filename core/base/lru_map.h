// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>

namespace ctxfs {

/// A map that orders its entries by last use. Functions that remove entries
/// return them, so that the caller can free them after releasing a lock. Not
/// thread-safe.
template <typename Key, typename Value>
class LruMap {
 public:
  using Entry = std::pair<const Key, Value>;
  /// Removed entries, for the caller to free.
  using Removed = std::list<Entry>;

  size_t size() const { return entries_.size(); }

  /// Returns the value of `key`, without marking it as used; null if there is
  /// none.
  Value* Peek(const Key& key) {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &found->second->second;
  }

  /// Like Peek, but marks the entry as the most recently used.
  Value* Use(const Key& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }

  /// Sets the value of `key`, and marks the entry as the most recently used.
  /// Returns the replaced entry, if any. If an allocation throws, the map is
  /// unchanged.
  Removed Put(const Key& key, Value value) {
    Removed one;
    one.emplace_back(key, std::move(value));
    const auto [at, added] = by_key_.try_emplace(key, one.begin());
    Removed removed;
    if (!added) {
      removed.splice(removed.end(), entries_, at->second);
      at->second = one.begin();
    }
    entries_.splice(entries_.begin(), one);
    return removed;
  }

  Removed Remove(const Key& key) {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? Removed() : Remove(found->second);
  }

  /// Removes the least recently used entry whose value satisfies `may_go`, if
  /// there is one.
  template <typename MayGo>
  Removed RemoveOldest(const MayGo& may_go) {
    for (auto end = entries_.end(); end != entries_.begin();) {
      if (may_go(std::as_const((--end)->second))) return Remove(end);
    }
    return {};
  }
  Removed RemoveOldest() {
    return RemoveOldest([](const Value& /*value*/) { return true; });
  }

  Removed RemoveAll() {
    by_key_.clear();
    return std::exchange(entries_, {});
  }

 private:
  using Entries = std::list<Entry>;

  Removed Remove(typename Entries::iterator entry) {
    Removed removed;
    by_key_.erase(entry->first);
    removed.splice(removed.end(), entries_, entry);
    return removed;
  }

  Entries entries_;  // most recently used first
  std::unordered_map<Key, typename Entries::iterator> by_key_;
};

}  // namespace ctxfs
