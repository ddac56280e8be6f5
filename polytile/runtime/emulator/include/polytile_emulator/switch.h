// The context switch. A context is a stack pointer; everything else lives on the stack that it points to.
//
//   prepare_context(stack, size, entry)   a context that calls entry() on that stack when first switched to
//   polytile_emulator_switch(&from, to)   saves the running context in from and continues to
//
// A sanitizer that must be told of switches is told here.
#ifndef POLYTILE_EMULATOR_SWITCH_H
#define POLYTILE_EMULATOR_SWITCH_H

#if defined(__ILP32__) || !(defined(__x86_64__) || defined(__aarch64__))
#define POLYTILE_EMULATOR_UCONTEXT 1
#endif
#if defined(POLYTILE_EMULATOR_UCONTEXT)
#include <ucontext.h>
#endif

#pragma GCC visibility push(hidden)

#if defined(__x86_64__) && !defined(POLYTILE_EMULATOR_UCONTEXT)

extern "C" void polytile_emulator_switch(void **from, void *to);

__asm__(R"(
  .pushsection .text
  .weak polytile_emulator_switch
  .hidden polytile_emulator_switch
  .type polytile_emulator_switch, @function
  .p2align 4
polytile_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size polytile_emulator_switch, .-polytile_emulator_switch
  .popsection
)");

namespace polytile_emulator {

// Six registers, the entry point where the first `ret` goes, and a null return address above it.
POLYTILE_EMULATOR_QUIET inline void *prepare_context(char *stack, size_t size, void (*entry)()) {
  void **top = reinterpret_cast<void **>((reinterpret_cast<uintptr_t>(stack) + size) & ~uintptr_t(15));
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(entry);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  return top;
}

}  // namespace polytile_emulator

#elif defined(__aarch64__) && !defined(POLYTILE_EMULATOR_UCONTEXT)

extern "C" void polytile_emulator_switch(void **from, void *to);

__asm__(R"(
  .pushsection .text
  .weak polytile_emulator_switch
  .hidden polytile_emulator_switch
  .type polytile_emulator_switch, %function
  .p2align 4
polytile_emulator_switch:
  stp x19, x20, [sp, #-160]!
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x19, x20, [sp], #160
  ret
  .size polytile_emulator_switch, .-polytile_emulator_switch
  .popsection
)");

namespace polytile_emulator {

// The frame that the switch restores: 20 words, x30 (where `ret` goes) is word 11.
POLYTILE_EMULATOR_QUIET inline void *prepare_context(char *stack, size_t size, void (*entry)()) {
  void **top = reinterpret_cast<void **>((reinterpret_cast<uintptr_t>(stack) + size) & ~uintptr_t(15));
  top -= 20;
  for (int i = 0; i < 20; ++i) top[i] = nullptr;
  top[11] = reinterpret_cast<void *>(entry);
  return top;
}

}  // namespace polytile_emulator

#else

namespace polytile_emulator {

POLYTILE_EMULATOR_QUIET inline void *prepare_context(char *stack, size_t size, void (*entry)()) {
  size_t room = (sizeof(ucontext_t) + 63) & ~size_t(63);
  ucontext_t *context = reinterpret_cast<ucontext_t *>(stack);
  getcontext(context);
  context->uc_stack.ss_sp = stack + room;
  context->uc_stack.ss_size = size - room;
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
}

}  // namespace polytile_emulator

POLYTILE_EMULATOR_QUIET inline void polytile_emulator_switch(void **from, void *to) {
  ucontext_t here;
  *from = &here;
  swapcontext(&here, static_cast<ucontext_t *>(to));
}

#endif

#pragma GCC visibility pop

#endif
