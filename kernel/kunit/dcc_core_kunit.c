// SPDX-License-Identifier: GPL-2.0
/* The contract of every core, in the kernel. */
#include "core/dcc_ccc.h"
#include "core/dcc_ledbat.h"
#include "core/dcc_oscar.h"
#include "core/dcc_prioplus.h"
#include "core/dcc_sqcc.h"
#include "core/dcc_swift.h"
#include "core/dcc_thetapowertcp.h"
#include "core/dcc_timely.h"
#include "kunit/dcc_core_kunit.h"

#define CORE dcc_oscar
#define CORE_SUITE oscar
#define CORE_SETUP(p)
#include "kunit/dcc_core_cases.h"

#define CORE dcc_oscar
#define CORE_SUITE oscar_paper
#define CORE_SETUP(p) ((p).paper = 1)
#include "kunit/dcc_core_cases.h"

#define CORE dcc_ccc
#define CORE_SUITE ccc
#define CORE_SETUP(p)
#include "kunit/dcc_core_cases.h"

#define CORE dcc_sqcc
#define CORE_SUITE sqcc
#define CORE_SETUP(p)
#include "kunit/dcc_core_cases.h"

/* The highest level starts without a probe and bears the longest queue. */
#define CORE dcc_prioplus
#define CORE_SUITE prioplus
#define CORE_SETUP(p) ((p).priority = 7)
#include "kunit/dcc_core_cases.h"

#define CORE dcc_swift
#define CORE_SUITE swift
#define CORE_SETUP(p)
#include "kunit/dcc_core_cases.h"

#define CORE dcc_timely
#define CORE_SUITE timely
#define CORE_SETUP(p)
#include "kunit/dcc_core_cases.h"

#define CORE dcc_timely
#define CORE_SUITE patched_timely
#define CORE_SETUP(p) ((p).patched = 1)
#include "kunit/dcc_core_cases.h"

#define CORE dcc_thetapowertcp
#define CORE_SUITE thetapowertcp
#define CORE_SETUP(p)
#include "kunit/dcc_core_cases.h"

#define CORE dcc_ledbat
#define CORE_SUITE ledbat
#define CORE_SETUP(p)
#include "kunit/dcc_core_cases.h"

kunit_test_suites(&oscar_suite,
		  &oscar_paper_suite,
		  &ccc_suite,
		  &sqcc_suite,
		  &prioplus_suite,
		  &swift_suite,
		  &timely_suite,
		  &patched_timely_suite,
		  &thetapowertcp_suite,
		  &ledbat_suite);
