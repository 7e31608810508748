// SPDX-License-Identifier: Apache-2.0
#include "eval/local.h"

#include <vector>

namespace delaycc {

void run_locally(TrialDispatcher& dispatcher, const EvalOptions& options, const EvalPlan& plan,
                 TrialRunner& runner) {
  run_workers(
      options.jobs,
      [&] {
        // Enough for all to be busy while one takes long.
        const std::vector<TrialId> ids = dispatcher.next(1, 2 * options.jobs);
        if (ids.empty()) {
          if (!dispatcher.wanted()) return false;
          dispatcher.wait();
          return true;
        }
        const TrialId id = ids.front();
        dispatcher.deliver(id, runner.run(plan.trial_case(id)));
        return true;
      },
      [&] { dispatcher.abandon(); });
}

}  // namespace delaycc
