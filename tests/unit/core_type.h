// SPDX-License-Identifier: Apache-2.0
//
// A core as a type, for test suites that are the same for all of them.
#ifndef DELAYCC_TESTS_UNIT_CORE_TYPE_H_
#define DELAYCC_TESTS_UNIT_CORE_TYPE_H_

#include <string>

#define CONTRACT_CORE(Name, prefix, ...)                     \
  struct Name {                                              \
    using State = prefix;                                    \
    using Params = prefix##_params;                          \
    static constexpr auto Init = prefix##_init;              \
    static constexpr auto Ack = prefix##_ack;                \
    static constexpr auto Loss = prefix##_loss;              \
    static constexpr auto Rto = prefix##_rto;                \
    static constexpr auto Restart = prefix##_restart;        \
    static constexpr auto Valid = prefix##_params_valid;     \
    static constexpr auto Default = prefix##_params_default; \
    static Params Defaults() {                               \
      Params p;                                              \
      Default(&p);                                           \
      __VA_ARGS__;                                           \
      return p;                                              \
    }                                                        \
    static constexpr char kName[] = #Name;                   \
  }

struct NameOf {
  template <class Core>
  static std::string GetName(int) {
    return Core::kName;
  }
};

#endif  // DELAYCC_TESTS_UNIT_CORE_TYPE_H_
