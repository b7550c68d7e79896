// Asks the processor, and the operating system where it has a say.
#include "machine.hpp"

#if defined(BOCHNER_AMX)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace bochner {
namespace {

#if defined(BOCHNER_AMX)
// The kernel gives tiles to a process that asks, then to all its threads and children; before that, they are a fault.
bool tiles_granted() {
  constexpr long REQUEST_PERMISSION = 0x1023, TILE_DATA = 18;  // of arch_prctl
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

bool processor_has_amx() {
  constexpr unsigned BF16 = 1u << 22, TILE = 1u << 24, INT8 = 1u << 25;  // of leaf 7
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & BF16) && (d & TILE) && (d & INT8);
}
#endif

std::string why_no_amx() {
#if defined(BOCHNER_AMX)
  if (!processor_has_amx()) return "this processor has none";
  if (!__builtin_cpu_supports("avx512vnni")) return "this processor lacks the AVX-512 that goes with it";
  if (!tiles_granted()) return "the operating system does not grant its tiles";
  return "";
#else
  return "it was not compiled in, for want of Linux on x86-64 or of an assembler that knows it";
#endif
}

std::vector<InstructionSet> runnable() {
  std::vector<InstructionSet> sets;
#if defined(BOCHNER_X86)
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#if defined(BOCHNER_AMX)
  if (avx512 && amx_refusal().empty()) sets.push_back({"amx", amx_kernels});
#endif
  if (avx512 && __builtin_cpu_supports("avx512vnni")) sets.push_back({"vnni", best_vnni_kernels});
  if (avx512) sets.push_back({"avx512", avx512_kernels});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back({"avx2", avx2_kernels});
#endif
  sets.push_back({"baseline", baseline_kernels});
  sets.push_back({"amx_emulated", amx_emulated_kernels});
  return sets;
}

}  // namespace

#if defined(BOCHNER_X86)
const Kernels& best_vnni_kernels() {
#if defined(BOCHNER_BFLOAT16)
  if (__builtin_cpu_supports("avx512bf16")) return bfloat16_kernels();
#endif
  return vnni_kernels();
}
#endif

const std::vector<InstructionSet>& instruction_sets() {
  static const std::vector<InstructionSet> found = runnable();
  return found;
}

const std::string& amx_refusal() {
  static const std::string reason = why_no_amx();
  return reason;
}

}  // namespace bochner
