// SPDX-License-Identifier: Apache-2.0
// Sockets that run an algorithm as a kernel module, as `ss -ti` sees them.
#ifndef DELAYCC_USER_BPF_MODULES_H_
#define DELAYCC_USER_BPF_MODULES_H_

#include <vector>

#include "delaycc_bpf.h"

namespace delaycc {

// Those of this network namespace; none without the modules. Gradient, branch, priority and
// whether a flow has stopped are not known here. Throws Error when the kernel does not answer.
std::vector<dcc_flow> module_flows();

}  // namespace delaycc

#endif  // DELAYCC_USER_BPF_MODULES_H_
