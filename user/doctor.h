// SPDX-License-Identifier: Apache-2.0
#ifndef DELAYCC_USER_DOCTOR_H_
#define DELAYCC_USER_DOCTOR_H_

namespace delaycc {

// Prints one line per facility of this machine: ok, missing, or denied to this user, with the
// remedy. Returns 0 when experiments in the lab can run, else 1.
int doctor();

}  // namespace delaycc

#endif  // DELAYCC_USER_DOCTOR_H_
