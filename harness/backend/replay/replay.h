// SPDX-License-Identifier: Apache-2.0
// Records of kept trials instead of new ones.
#ifndef DELAYCC_HARNESS_BACKEND_REPLAY_REPLAY_H_
#define DELAYCC_HARNESS_BACKEND_REPLAY_REPLAY_H_

#include <memory>
#include <string>

#include "backend/backend.h"

namespace delaycc {

// `folder` is the folder of one kept trial, one with such folders in it, or a folder of results
// with such in its trials/. Throws Error naming it if it holds no kept trial, or one that is
// damaged.
std::unique_ptr<Backend> make_replay(const std::string& folder);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_REPLAY_REPLAY_H_
