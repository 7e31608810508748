// SPDX-License-Identifier: Apache-2.0
// What `delaycc --version` prints: "delaycc 0.2.0-dev (commit 0123456789ab)", without the commit
// where the sources are no git tree. "and changes" follows the commit where files differ from it.
#ifndef DELAYCC_USER_VERSION_H_
#define DELAYCC_USER_VERSION_H_

namespace delaycc {

extern const char* const version_text;

}  // namespace delaycc

#endif  // DELAYCC_USER_VERSION_H_
