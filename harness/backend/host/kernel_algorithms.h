// SPDX-License-Identifier: Apache-2.0
// Congestion controls that the running kernel has, or gets when it is asked.
#ifndef DELAYCC_HARNESS_BACKEND_HOST_KERNEL_ALGORITHMS_H_
#define DELAYCC_HARNESS_BACKEND_HOST_KERNEL_ALGORITHMS_H_

#include <map>
#include <set>
#include <string>

#include "plan/plan.h"

namespace delaycc {

// TCP asks modprobe for this and the algorithm's name.
inline constexpr char kModulePrefix[] = "tcp_";

// Modules that were built for this kernel and not installed: DELAYCC_MODULES, or what "make
// modules" leaves. Empty: there is no such folder. Throws Error when DELAYCC_MODULES is none.
std::string module_folder();

struct KernelAlgorithms {
  // By the kernel's names: built in, loaded (BPF programs too), installed, or in `folder`.
  std::set<std::string> algorithms;
  // Files of delaycc's own modules, by name or alias.
  std::map<std::string, std::string> ours;
};

// What is installed, and what is in `folder` beside that; empty: no such folder. Throws Error.
KernelAlgorithms find_kernel_algorithms(const std::string& folder);

// For the identity of a plan. A flow may run a BPF program (by its name, bpf_*): what that is, and
// how it is set, can be another in the next run, and nothing here sees it. Then no other process
// has the same text; else it is empty.
std::string unseen_programs(const Plan& plan);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_HOST_KERNEL_ALGORITHMS_H_
