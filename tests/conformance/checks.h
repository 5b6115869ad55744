// Checks of the conformance suite that are functions, so that wrong backends can be shown to fail them
// (wrong_backends_test.cpp). They report with gtest's EXPECT.
#pragma once

#include <vector>

#include "depute/backend/registry.h"
#include "programs.h"

namespace depute {

struct Subject {
  const BackendEntry& entry;
  const Registry& registry;
};

// The program with its backend's own ops in the place of their patterns; a failed check when they say other
// types than their patterns, or compute something else.
Program with_own_ops(const Subject& subject, const TestProgram& given);

// Every op of the backend's own that has a pattern takes its place in some program, and where the backend
// leaves it, it can be expanded or has a kernel. Not those in `untried`.
void check_own_ops(const Subject& subject, const std::vector<TestProgram>& programs,
                   const std::vector<std::string>& untried);

// What is made of a program does not depend on where its constants' elements lie: alone, or in a larger
// storage with other bytes around and between them.
void check_places_of_data(const Subject& subject, const std::vector<TestProgram>& programs);

// Whoever makes the partitions - one node each, the backend's own as groups, whole programs, ... - the
// backend compiles them, to the same on any number of threads, or refuses with an error.
void check_canonical_partitioners(const Subject& subject, const std::vector<TestProgram>& programs);

// Both programs give the same results for made-up inputs, in two calls. How many results were compared.
int expect_same_results(const Program& before, const Program& after);

}  // namespace depute
