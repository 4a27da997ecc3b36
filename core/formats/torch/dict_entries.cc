// SPDX-License-Identifier: Apache-2.0
#include "core/formats/torch/dict_entries.h"

#include <openssl/bn.h>
#include <openssl/crypto.h>

#include <deque>
#include <map>
#include <memory>
#include <new>
#include <string_view>

#include "core/base/heap/heap_allowance.h"

namespace ctxfs::torch {
namespace {

constexpr size_t kKeysPerCheck = 1024;

using Kind = Node::Kind;

/// Charges the work of comparing a plain key.
void ChargeKey(const Pickle& pickle, NodeId key, WalkBudget& budget) {
  if (pickle.Is(key, Kind::kText)) {
    budget.ChargeText(pickle.Text(key).size());
  } else if (pickle.Is(key, Kind::kBigInt)) {
    // Converting to decimal takes more than linear time.
    budget.Charge(pickle.Text(key).size());
  }
}

}  // namespace

std::string DecimalDigits(std::string_view twos_complement) {
  std::string magnitude(twos_complement);
  const bool negative = !magnitude.empty() && (magnitude.back() & 0x80) != 0;
  if (negative) {
    unsigned carry = 1;
    for (char& c : magnitude) {
      const unsigned sum = (~static_cast<unsigned char>(c) & 0xFFU) + carry;
      c = static_cast<char>(sum & 0xFF);
      carry = sum >> 8;
    }
  }
  const std::unique_ptr<BIGNUM, void (*)(BIGNUM*)> number(
      BN_lebin2bn(reinterpret_cast<const unsigned char*>(magnitude.data()),
                  static_cast<int>(magnitude.size()), nullptr),
      &BN_free);
  if (number == nullptr) throw std::bad_alloc();
  char* digits = BN_bn2dec(number.get());
  if (digits == nullptr) throw std::bad_alloc();
  std::string text = negative ? "-" : "";
  text += digits;
  OPENSSL_free(digits);
  return text;
}

bool IsPlainKey(const Pickle& pickle, NodeId key) {
  return pickle.Is(key, Kind::kText) || pickle.Is(key, Kind::kInt) ||
         pickle.Is(key, Kind::kBigInt);
}

std::string KeyText(const Pickle& pickle, NodeId key) {
  const Node& node = pickle.at(key);
  if (node.kind == Kind::kText) return std::string(pickle.Text(key));
  if (node.kind == Kind::kInt) return std::to_string(node.number);
  return DecimalDigits(pickle.Text(key));
}

void AddEntries(const Pickle& pickle, uint32_t link,
                std::vector<Entry>& entries) {
  while (link != kNoNode) {
    const NodeId key = pickle.Child(link);
    link = pickle.Next(link);
    if (link == kNoNode || !AdmitGrowth(entries)) return;
    entries.push_back({key, pickle.Child(link)});
    link = pickle.Next(link);
  }
}

bool AddPairs(const Pickle& pickle, NodeId pairs, WalkBudget& budget,
              std::vector<Entry>& entries) {
  for (uint32_t link = pickle.at(pairs).first; link != kNoNode;
       link = pickle.Next(link)) {
    budget.Charge(1);
    if (budget.exhausted()) return true;
    const NodeId pair = pickle.Child(link);
    if (!pickle.IsSequence(pair) || pickle.Child(pair, 1) == kNoNode ||
        pickle.Child(pair, 2) != kNoNode) {
      return false;
    }
    if (!AdmitGrowth(entries)) return true;
    entries.push_back({pickle.Child(pair, 0), pickle.Child(pair, 1)});
  }
  return true;
}

bool MergeEqualKeys(const Pickle& pickle, WalkBudget& budget,
                    std::vector<Entry>& entries) {
  struct Known {
    size_t index;
    bool is_text;
  };
  // This is not a hash table, because a hostile pickle can choose keys with
  // equal hashes.
  std::map<std::string_view, Known> known;
  std::deque<std::string> digits;  // of keys that are numbers
  bool distinct = true;
  size_t kept = 0;
  size_t met = 0;
  for (const Entry entry : entries) {
    if (met++ % kKeysPerCheck == 0 && !HeapAllowance::Check()) return true;
    if (!IsPlainKey(pickle, entry.key)) {
      entries[kept++] = entry;
      continue;
    }
    ChargeKey(pickle, entry.key, budget);
    if (budget.exhausted()) return true;
    const bool is_text = pickle.Is(entry.key, Kind::kText);
    const std::string_view key =
        is_text
            ? pickle.Text(entry.key)
            : std::string_view(digits.emplace_back(KeyText(pickle, entry.key)));
    const auto [found, inserted] = known.try_emplace(key, Known{kept, is_text});
    if (!inserted && found->second.is_text == is_text) {
      entries[found->second.index].value = entry.value;
      continue;
    }
    distinct = distinct && inserted;
    entries[kept++] = entry;
  }
  entries.resize(kept);
  return distinct;
}

}  // namespace ctxfs::torch
