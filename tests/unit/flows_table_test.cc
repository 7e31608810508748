// SPDX-License-Identifier: Apache-2.0
//
// The kernel's table of active flows (kernel/count/delaycc_flows.h) in user space: one thread at a
// time, and many at once under ThreadSanitizer, to which READ_ONCE() and WRITE_ONCE() are relaxed
// atomics as they are to the kernel's own race detector.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace {

// ---- what the kernel has ----

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using std::max;
using spinlock_t = std::mutex;

#define __rcu
#define NSEC_PER_USEC 1000U
#define U32_MAX UINT32_MAX
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELAXED)
#define rcu_assign_pointer(p, value) __atomic_store_n(&(p), value, __ATOMIC_RELEASE)
#define WARN_ON_ONCE(condition) Warned(condition)

[[maybe_unused]] bool Warned(bool condition) {
  EXPECT_FALSE(condition);
  return condition;
}
void spin_lock_init(spinlock_t*) {}
void spin_lock_bh(spinlock_t* lock) { lock->lock(); }
void spin_unlock_bh(spinlock_t* lock) { lock->unlock(); }
void lockdep_assert_held(spinlock_t*) {}
u64 div_u64(u64 dividend, u32 divisor) { return dividend / divisor; }
u32 hash_ptr(const void* pointer, u32 bits) {
  return static_cast<u32>(reinterpret_cast<std::uintptr_t>(pointer) * 0x61C8864680B583EBULL >>
                          (64 - bits));
}

#include "count/delaycc_flows.h"

// ---- the table ----

constexpr u32 kActiveUs = 8000;
constexpr u64 kPartNs = kActiveUs * 1000 / FLOWS_PARTS;

struct Table {
  explicit Table(u32 sets_log) : sets(FLOWS_WAYS << sets_log) {
    flows_init(&table, reinterpret_cast<flows_slot(*)[FLOWS_WAYS]>(sets.data()), sets_log);
  }
  std::vector<flows_slot> sets;
  flows_table table = {};
};

// Addresses as a slab gives them.
const void* Flow(std::size_t i) { return reinterpret_cast<const void*>(0x7f0000000000 + i * 2368); }

u32 SumOfParts(const flows_table& t) {
  u32 sum = 0;
  for (const u32 n : t.in_part) sum += n;
  return sum;
}

u32 AliveSlots(const flows_table& t) {
  u32 alive = 0;
  for (u32 set = 0; set < 1U << t.sets_log; ++set)
    for (const flows_slot& slot : t.set[set]) alive += flows_slot_lives(&t, &slot);
  return alive;
}

TEST(FlowsTable, CountsAFlowOnceHoweverOftenItSends) {
  Table t(FLOWS_SETS_LOG_MIN);
  for (u32 progress = 1; progress <= 100; ++progress)
    EXPECT_EQ(flows_note(&t.table, Flow(1), progress, progress * 1000, kActiveUs), 1U);
  EXPECT_EQ(flows_note(&t.table, Flow(2), 1, 200000, kActiveUs), 2U);
}

TEST(FlowsTable, ForgetsWhoGetsNothingMoreWithinAnEighth) {
  Table t(FLOWS_SETS_LOG_MIN);
  flows_note(&t.table, Flow(1), 5, kPartNs / 2, kActiveUs);
  EXPECT_EQ(flows_now(&t.table, kPartNs / 2 + kActiveUs * 1000, kActiveUs), 1U);
  EXPECT_EQ(flows_now(&t.table, kPartNs * 3 / 2 + kActiveUs * 1000, kActiveUs), 0U);
  // What it sends without new data does not bring it back.
  EXPECT_EQ(flows_note(&t.table, Flow(1), 5, kPartNs * 20, kActiveUs), 0U);
}

TEST(FlowsTable, ForgetsAtOnceWhoHasEnded) {
  Table t(FLOWS_SETS_LOG_MIN);
  flows_note(&t.table, Flow(1), 1, 1000, kActiveUs);
  flows_note(&t.table, Flow(2), 1, 1000, kActiveUs);
  flows_forget(&t.table, Flow(1));
  flows_forget(&t.table, Flow(3));
  EXPECT_EQ(flows_now(&t.table, 2000, kActiveUs), 1U);
}

TEST(FlowsTable, KeepsEveryFlowWhenItMovesIntoLargerTables) {
  constexpr u32 kFlows = 4096;
  std::vector<std::unique_ptr<Table>> tables;
  tables.push_back(std::make_unique<Table>(FLOWS_SETS_LOG_MIN));
  flows_table* now = &tables.back()->table;
  u64 time_ns = 1000;
  for (u32 i = 0; i < kFlows; ++i, time_ns += kActiveUs * 1000 / kFlows) {
    const u32 flows = flows_note(now, Flow(i), 1, time_ns, kActiveUs);
    ASSERT_GE(flows, i * 999 / 1000);
    if (flows <= now->crowded) continue;
    tables.push_back(std::make_unique<Table>(
        std::min<u32>(now->sets_log + FLOWS_GROWTH_LOG, FLOWS_SETS_LOG_MAX)));
    flows_table* const old = now;
    flows_move(&tables.back()->table, old, &now);
    EXPECT_EQ(now, &tables.back()->table);
    EXPECT_EQ(now->flows, flows);
    EXPECT_EQ(AliveSlots(*now), AliveSlots(*old));
    EXPECT_EQ(SumOfParts(*now), flows);
    // Who has still hold of the old table changes nothing.
    EXPECT_EQ(flows_note(old, Flow(kFlows + i), 1, time_ns, kActiveUs), flows);
    EXPECT_EQ(now->flows, flows);
  }
  EXPECT_EQ(tables.size(), 4U);
  EXPECT_EQ(now->crowded, U32_MAX);
  EXPECT_GE(now->flows, kFlows * 999 / 1000);
}

TEST(FlowsTable, TakesAtMost256KiB) {
  EXPECT_EQ(flows_sets_bytes(FLOWS_SETS_LOG_MIN), 8U << 10);
  EXPECT_EQ(flows_sets_bytes(FLOWS_SETS_LOG_MAX), 256U << 10);
  // The table itself comes beside that, not on top of a power of two.
  EXPECT_LE(sizeof(flows_table), 192U);
}

// Threads are processors: each keeps flows of its own, which share sets; one moves the table about.
TEST(FlowsTable, HoldsItsSumsWithManyProcessorsAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 60000;
  constexpr std::size_t kEach = 40;
  std::vector<std::unique_ptr<Table>> tables;
  for (u32 log = FLOWS_SETS_LOG_MIN; log <= FLOWS_SETS_LOG_MAX; ++log)
    tables.push_back(std::make_unique<Table>(log));
  flows_table* published = &tables[0]->table;
  std::atomic<u64> clock_ns{1000};

  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id)
    threads.emplace_back([&, id] {
      std::mt19937 random(static_cast<unsigned>(id));
      std::vector<u32> progress(kEach);
      for (int round = 0; round < kRounds; ++round) {
        flows_table* t = __atomic_load_n(&published, __ATOMIC_ACQUIRE);
        const std::size_t i = random() % kEach;
        const u64 now_ns = clock_ns.fetch_add(random() % 2000, std::memory_order_relaxed);
        if (random() % 64 == 0) {
          flows_forget(t, Flow(static_cast<std::size_t>(id) * kEach + i));
        } else {
          progress[i] += random() % 2;
          flows_note(t, Flow(static_cast<std::size_t>(id) * kEach + i), progress[i], now_ns,
                     round < kRounds / 2 ? kActiveUs : kActiveUs / 4);
        }
        if (random() % 256 == 0) flows_now(t, now_ns, READ_ONCE(t->active_us));
      }
    });
  for (std::size_t i = 1; i < tables.size(); ++i) {
    while (clock_ns.load(std::memory_order_relaxed) < i * 10000000) std::this_thread::yield();
    flows_move(&tables[i]->table, &tables[i - 1]->table, &published);
  }
  for (std::thread& thread : threads) thread.join();

  const flows_table& t = *published;
  EXPECT_EQ(t.flows, SumOfParts(t));
  EXPECT_EQ(t.flows, AliveSlots(t));
  EXPECT_LE(t.flows, kThreads * kEach);
  EXPECT_GT(t.flows, 0U);
}

}  // namespace
