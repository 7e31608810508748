// SPDX-License-Identifier: Apache-2.0
//
// The numbers of the rules in the tracepoint and in ss, as docs/operate has them for each
// algorithm: whoever reads a trace goes by them.
#include <gtest/gtest.h>

#include <vector>

#include "dcc_ccc.h"
#include "dcc_ledbat.h"
#include "dcc_oscar.h"
#include "dcc_prioplus.h"
#include "dcc_sqcc.h"
#include "dcc_swift.h"
#include "dcc_thetapowertcp.h"
#include "dcc_timely.h"

namespace {

using Numbers = std::vector<int>;

TEST(Branches, OfOscarAreThoseOfItsPage) {
  EXPECT_EQ((Numbers{DCC_OSCAR_START, DCC_OSCAR_EMPTY, DCC_OSCAR_UP_WINDOW, DCC_OSCAR_UP_RATE,
                     DCC_OSCAR_DOWN_WINDOW, DCC_OSCAR_DOWN_RATE, DCC_OSCAR_APP_LIMITED,
                     DCC_OSCAR_NEAR, DCC_OSCAR_KEEP, DCC_OSCAR_REFILL, DCC_OSCAR_LOSS,
                     DCC_OSCAR_RTO, DCC_OSCAR_PROBE_BEGIN, DCC_OSCAR_PROBE_END,
                     DCC_OSCAR_PROBE_FREE, DCC_OSCAR_WAIT_DRAIN}),
            (Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 17}));
}

TEST(Branches, OfCccAreThoseOfItsPage) {
  EXPECT_EQ((Numbers{DCC_CCC_START, DCC_CCC_AI, DCC_CCC_AD, DCC_CCC_H1I, DCC_CCC_H2I, DCC_CCC_H1D,
                     DCC_CCC_H2D, DCC_CCC_RTO}),
            (Numbers{0, 1, 2, 3, 4, 5, 6, 8}));
}

TEST(Branches, OfSwiftAreThoseOfItsPage) {
  EXPECT_EQ((Numbers{DCC_SWIFT_START, DCC_SWIFT_INCREASE, DCC_SWIFT_DECREASE, DCC_SWIFT_HOLD,
                     DCC_SWIFT_APP_LIMITED, DCC_SWIFT_LOSS, DCC_SWIFT_RTO}),
            (Numbers{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Branches, OfTimelyAreThoseOfItsPage) {
  EXPECT_EQ((Numbers{DCC_TIMELY_START, DCC_TIMELY_BELOW, DCC_TIMELY_ABOVE, DCC_TIMELY_FALLING,
                     DCC_TIMELY_HAI, DCC_TIMELY_RISING, DCC_TIMELY_WEIGHTED, DCC_TIMELY_UNUSED,
                     DCC_TIMELY_LOSS, DCC_TIMELY_RTO}),
            (Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Branches, OfSqccAreThoseOfItsPage) {
  EXPECT_EQ((Numbers{DCC_SQCC_START, DCC_SQCC_BELOW, DCC_SQCC_WEIGHTED, DCC_SQCC_ABOVE,
                     DCC_SQCC_CUT, DCC_SQCC_UNUSED, DCC_SQCC_REPORTED_START, DCC_SQCC_FILL,
                     DCC_SQCC_LOSS, DCC_SQCC_RTO}),
            (Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Branches, OfPrioplusAreThoseOfItsPage) {
  EXPECT_EQ(
      (Numbers{DCC_PRIOPLUS_START, DCC_PRIOPLUS_CHANNEL, DCC_PRIOPLUS_LINEAR, DCC_PRIOPLUS_ADAPTIVE,
               DCC_PRIOPLUS_CUT, DCC_PRIOPLUS_YIELD, DCC_PRIOPLUS_STOP, DCC_PRIOPLUS_WAIT,
               DCC_PRIOPLUS_RESUME, DCC_PRIOPLUS_RESUME_LOW, DCC_PRIOPLUS_LOSS, DCC_PRIOPLUS_RTO}),
      (Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(Branches, OfLedbatAreThoseOfItsPage) {
  EXPECT_EQ((Numbers{DCC_LEDBAT_START, DCC_LEDBAT_INCREASE, DCC_LEDBAT_DECREASE, DCC_LEDBAT_FLIGHT,
                     DCC_LEDBAT_APP_LIMITED, DCC_LEDBAT_LOSS, DCC_LEDBAT_RTO}),
            (Numbers{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Branches, OfThetaPowerTcpAreThoseOfItsPage) {
  EXPECT_EQ((Numbers{DCC_THETAPOWERTCP_START, DCC_THETAPOWERTCP_UPDATE, DCC_THETAPOWERTCP_CAP,
                     DCC_THETAPOWERTCP_LOSS, DCC_THETAPOWERTCP_RTO}),
            (Numbers{0, 1, 2, 3, 4}));
}

}  // namespace
