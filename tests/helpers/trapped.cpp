// In place of machine.cpp: AMX is always there, because its instructions are interpreted where the processor has none.
#include "machine.hpp"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

struct Configuration {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};
thread_local Configuration configuration;
thread_local uint8_t tiles[8][16][64];

// General registers in the order in which instructions number them.
const int ORDER[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                       REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

[[noreturn]] void unknown() {
  static const char message[] = "an illegal instruction that is no tile instruction, or a misused tile\n";
  if (write(2, message, sizeof message - 1)) {}
  abort();
}
void require(bool allowed) {
  if (!allowed) unknown();
}

// C4, then R X B mmmmm (inverted letters), then W vvvv L pp, the opcode, ModRM, and for memory SIB and displacement.
struct Instruction {
  int opcode, prefix, mode, reg, rm, vvvv, length;
  uint64_t base = 0, index = 0;

  Instruction(const uint8_t* at, const greg_t* registers) {
    require(at[0] == 0xC4 && (at[1] & 31) == 2 && !(at[2] & 0x84));  // 0F38, W0, 128 bits
    prefix = at[2] & 3, vvvv = ~at[2] >> 3 & 15, opcode = at[3];
    mode = at[4] >> 6, reg = at[4] >> 3 & 7, rm = at[4] & 7, length = 5;
    if (mode == 3) return;
    int number = rm, size = mode == 0 ? 0 : mode == 1 ? 1 : 4;
    if (rm == 4) {
      const int sib = at[length++], which = (sib >> 3 & 7) | (at[1] & 0x40 ? 0 : 8);
      if (which != 4) index = uint64_t(registers[ORDER[which]]) << (sib >> 6);
      number = sib & 7;
    }
    require(!(mode == 0 && number == 5));  // from the instruction pointer or a plain address: not written here
    base = uint64_t(registers[ORDER[number | (at[1] & 0x20 ? 0 : 8)]]);
    int32_t displacement = 0;
    if (size == 1) displacement = int8_t(at[length]);
    if (size == 4) memcpy(&displacement, at + length, 4);
    base += int64_t(displacement), length += size;
  }
};

void configure(uint64_t from) {
  memcpy(&configuration, reinterpret_cast<const void*>(from), 64);
  require(configuration.palette == 1 && configuration.start_row == 0);
  memset(tiles, 0, sizeof tiles);
}

void move(const Instruction& i, bool store) {
  const size_t rows = configuration.rows[i.reg], bytes = configuration.row_bytes[i.reg];
  require(rows > 0 && i.rm == 4);
  if (!store) memset(tiles[i.reg], 0, 1024);
  for (size_t r = 0; r < rows; r++) {
    void* memory = reinterpret_cast<void*>(i.base + r * i.index);
    store ? memcpy(memory, tiles[i.reg][r], bytes) : memcpy(tiles[i.reg][r], memory, bytes);
  }
}

template <class X>
void dot(int c, int a, int b) {
  require(configuration.rows[c] == 16 && configuration.rows[a] == 16 && configuration.rows[b] == 16);
  require(a != b && a != c && b != c);
  for (int m = 0; m < 16; m++)
    for (int n = 0; n < 16; n++) {
      uint32_t sum;
      memcpy(&sum, &tiles[c][m][4 * n], 4);
      for (int k = 0; k < 64; k++) sum += uint32_t(X(tiles[a][m][k]) * int8_t(tiles[b][k / 4][4 * n + k % 4]));
      memcpy(&tiles[c][m][4 * n], &sum, 4);
    }
}

float widened(const uint8_t* half) {
  const uint32_t bits = uint32_t(half[0]) << 16 | uint32_t(half[1]) << 24;
  float number;
  memcpy(&number, &bits, 4);
  return number;
}

// The even and the odd numbers of pairs apart, as the manual has it.
void dot_halves(int c, int a, int b) {
  require(configuration.rows[c] == 16 && configuration.rows[a] == 16 && configuration.rows[b] == 16);
  require(a != b && a != c && b != c);
  for (int m = 0; m < 16; m++)
    for (int n = 0; n < 16; n++) {
      float sum, parts[2] = {};
      memcpy(&sum, &tiles[c][m][4 * n], 4);
      for (int k = 0; k < 32; k++)
        parts[k % 2] += widened(&tiles[a][m][2 * k]) * widened(&tiles[b][k / 2][4 * n + k % 2 * 2]);
      sum += parts[0] + parts[1];
      memcpy(&tiles[c][m][4 * n], &sum, 4);
    }
}

void interpret(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const Instruction i(reinterpret_cast<const uint8_t*>(registers[REG_RIP]), registers);
  enum { NONE, P66, PF3, PF2 };
  if (i.opcode == 0x49 && i.prefix == NONE && i.mode != 3)
    configure(i.base + i.index);
  else if (i.opcode == 0x49 && i.prefix == NONE && i.reg == 0)
    memset(&configuration, 0, 64);
  else if (i.opcode == 0x4B && i.mode != 3 && (i.prefix == PF2 || i.prefix == PF3))
    move(i, i.prefix == PF3);
  else if (i.opcode == 0x5E && i.mode == 3 && i.prefix == PF2)
    dot<int8_t>(i.reg, i.rm, i.vvvv);
  else if (i.opcode == 0x5E && i.mode == 3 && i.prefix == P66)
    dot<uint8_t>(i.reg, i.rm, i.vvvv);
  else if (i.opcode == 0x5C && i.mode == 3 && i.prefix == PF3)
    dot_halves(i.reg, i.rm, i.vvvv);
  else
    unknown();
  registers[REG_RIP] += i.length;
}

}  // namespace

namespace bochner {

const std::vector<InstructionSet>& instruction_sets() {
  static const std::vector<InstructionSet> all = [] {
    struct sigaction action = {};
    action.sa_sigaction = interpret;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, nullptr);
    return std::vector<InstructionSet>{{"amx", amx_kernels},
                                       {"vnni", vnni_kernels},
                                       {"baseline", baseline_kernels},
                                       {"amx_emulated", amx_emulated_kernels}};
  }();
  return all;
}

const std::string& amx_refusal() {
  static const std::string none;
  return none;
}

}  // namespace bochner
