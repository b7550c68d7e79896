// Which instruction sets are compiled in and run on this machine.
#pragma once
#include <string>
#include <vector>

#include "kernels.hpp"

namespace bochner {

struct InstructionSet {
  std::string name;
  const Kernels& (*kernels)();
};

// Best first. The emulated set is last, so that it is never chosen by itself.
const std::vector<InstructionSet>& instruction_sets();

// Why there is no AMX, as a clause; empty if there is.
const std::string& amx_refusal();

}  // namespace bochner
