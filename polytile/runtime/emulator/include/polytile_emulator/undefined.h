// The functions that -fsanitize=undefined has the compiler call where C++ leaves behaviour undefined, defined here in
// place of libubsan. The compiler passes a description, which begins with a place in the source, and the values.
#ifndef POLYTILE_EMULATOR_UNDEFINED_H
#define POLYTILE_EMULATOR_UNDEFINED_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

struct SourcePlace {
  const char *file;
  unsigned line, column;
};

// kind 0: an integer, of which info says the sign (bit 0) and the logarithm of the width in bits; kind 1: floating point.
struct TypeDescriptor {
  unsigned short kind, info;
  char name[1];
};

// A description that begins with a place and up to two types.
struct Description {
  SourcePlace place;
  const TypeDescriptor *types[2];
};

struct PlainDescription {
  SourcePlace place;
};

struct AccessDescription {
  SourcePlace place;
  const TypeDescriptor *type;
  unsigned char log_alignment, access;
};

// Bounds, alignment and null pointers are a matter of addresses when these are checked.
#if defined(POLYTILE_EMULATOR_CHECK_ADDRESS)
constexpr Check kMemoryCheck = Check::address;
#else
constexpr Check kMemoryCheck = Check::undefined;
#endif

// A value that the compiler passed: itself when it fits, else by its address.
class Value {
 public:
  POLYTILE_EMULATOR_QUIET Value(const TypeDescriptor &type, uintptr_t handle) {
    if (type.kind == 0)
      set_integer(type, handle);
    else if (type.kind == 1)
      snprintf(text_, sizeof text_, "%g", floating(type.info, handle));
    else
      snprintf(text_, sizeof text_, "a value");
  }

  POLYTILE_EMULATOR_QUIET const char *text() const { return text_; }

 private:
  POLYTILE_EMULATOR_QUIET void set_integer(const TypeDescriptor &type, uintptr_t handle) {
    const unsigned bits = 1u << (type.info >> 1);
    const bool is_signed = type.info & 1;
    if (bits > 8 * sizeof handle)
      snprintf(text_, sizeof text_, "a %u-bit value", bits);
    else if (is_signed)
      snprintf(text_, sizeof text_, "%lld", static_cast<long long>(handle << (64 - bits)) >> (64 - bits));
    else
      snprintf(text_, sizeof text_, "%llu", static_cast<unsigned long long>(handle));
  }

  POLYTILE_EMULATOR_QUIET static double floating(unsigned bits, uintptr_t handle) {
    if (bits == 32) {
      float value;
      memcpy(&value, &handle, sizeof value);
      return static_cast<double>(value);
    }
    if (bits == 64) {
      double value;
      memcpy(&value, &handle, sizeof value);
      return value;
    }
    long double value;
    memcpy(&value, reinterpret_cast<const void *>(handle), sizeof value);
    return static_cast<double>(value);
  }

  char text_[48];
};

POLYTILE_EMULATOR_QUIET inline const char *name_of(const TypeDescriptor &type) { return type.name; }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"  // compilers of some systems warn where there are no arguments
template <class... Arguments>
POLYTILE_EMULATOR_QUIET inline void undefined_at(Check check, const SourcePlace &place, uintptr_t site,
                                                 const char *format, Arguments... arguments) {
  Finding *const finding = findings.add(check, Memory::none, offset_of(site), 0);
  if (!finding) return;
  fill_place(*finding, AccessKind::read);
  finding->line = static_cast<int>(place.line);
  snprintf(finding->file, sizeof finding->file, "%s", place.file ? place.file : "");
  snprintf(finding->text, sizeof finding->text, format, arguments...);
}
#pragma GCC diagnostic pop

// What would end the kernel on a GPU, or this process, does not happen: the launch fails.
POLYTILE_EMULATOR_QUIET inline void end_kernel() {
  if (observing) abandon_block();
}

POLYTILE_EMULATOR_QUIET inline const char *purpose(unsigned char access) {
  static const char *const names[] = {"load", "store", "reference", "member access", "member call", "constructor call"};
  return access < sizeof names / sizeof *names ? names[access] : "use";
}

}  // namespace polytile_emulator

#pragma GCC visibility pop

#define POLYTILE_EMULATOR_CALLED \
  extern "C" __attribute__((weak, used, noinline, visibility("hidden"))) POLYTILE_EMULATOR_QUIET
#define POLYTILE_EMULATOR_RETURN reinterpret_cast<uintptr_t>(__builtin_return_address(0))

#define POLYTILE_EMULATOR_OVERFLOW(name, sign)                                                                  \
  POLYTILE_EMULATOR_CALLED void __ubsan_handle_##name##_overflow(void *data, uintptr_t left, uintptr_t right) { \
    using namespace polytile_emulator;                                                                          \
    const Description &about = *static_cast<Description *>(data);                                               \
    const TypeDescriptor &type = *about.types[0];                                                               \
    undefined_at(Check::undefined, about.place, POLYTILE_EMULATOR_RETURN, "%s " sign " %s does not fit in %s",  \
                 Value(type, left).text(), Value(type, right).text(), name_of(type));                           \
  }

POLYTILE_EMULATOR_OVERFLOW(add, "+")
POLYTILE_EMULATOR_OVERFLOW(sub, "-")
POLYTILE_EMULATOR_OVERFLOW(mul, "*")

POLYTILE_EMULATOR_CALLED void __ubsan_handle_negate_overflow(void *data, uintptr_t value) {
  using namespace polytile_emulator;
  const Description &about = *static_cast<Description *>(data);
  undefined_at(Check::undefined, about.place, POLYTILE_EMULATOR_RETURN, "-(%s) does not fit in %s",
               Value(*about.types[0], value).text(), name_of(*about.types[0]));
}

POLYTILE_EMULATOR_CALLED void __ubsan_handle_divrem_overflow(void *data, uintptr_t left, uintptr_t right) {
  using namespace polytile_emulator;
  const Description &about = *static_cast<Description *>(data);
  const TypeDescriptor &type = *about.types[0];
  undefined_at(Check::undefined, about.place, POLYTILE_EMULATOR_RETURN, "%s / %s %s", Value(type, left).text(),
               Value(type, right).text(), right ? "does not fit" : "divides by zero");
  end_kernel();
}

POLYTILE_EMULATOR_CALLED void __ubsan_handle_shift_out_of_bounds(void *data, uintptr_t left, uintptr_t right) {
  using namespace polytile_emulator;
  const Description &about = *static_cast<Description *>(data);
  undefined_at(Check::undefined, about.place, POLYTILE_EMULATOR_RETURN, "a shift of %s (%s) by %s",
               Value(*about.types[0], left).text(), name_of(*about.types[0]), Value(*about.types[1], right).text());
}

POLYTILE_EMULATOR_CALLED void __ubsan_handle_out_of_bounds(void *data, uintptr_t index) {
  using namespace polytile_emulator;
  const Description &about = *static_cast<Description *>(data);
  undefined_at(kMemoryCheck, about.place, POLYTILE_EMULATOR_RETURN, "index %s is out of bounds of %s",
               Value(*about.types[1], index).text(), name_of(*about.types[0]));
  end_kernel();
}

POLYTILE_EMULATOR_CALLED void __ubsan_handle_type_mismatch_v1(void *data, uintptr_t pointer) {
  using namespace polytile_emulator;
  const AccessDescription &about = *static_cast<AccessDescription *>(data);
  undefined_at(kMemoryCheck, about.place, POLYTILE_EMULATOR_RETURN, "a %s of %s through %s pointer",
               purpose(about.access), name_of(*about.type), pointer ? "a misaligned" : "a null");
  end_kernel();
}

// Older descriptions of this begin with the types.
POLYTILE_EMULATOR_CALLED void __ubsan_handle_float_cast_overflow(void *data, uintptr_t value) {
  using namespace polytile_emulator;
  const unsigned char *const first = *static_cast<const unsigned char *const *>(data);
  const bool placeless = first[0] + first[1] < 2 || first[0] == 0xff || first[1] == 0xff;
  const SourcePlace place = placeless ? SourcePlace{} : static_cast<PlainDescription *>(data)->place;
  const TypeDescriptor *const *types =
      placeless ? static_cast<const TypeDescriptor *const *>(data) : static_cast<Description *>(data)->types;
  undefined_at(Check::undefined, place, POLYTILE_EMULATOR_RETURN, "%s does not fit in %s", Value(*types[0], value).text(),
               name_of(*types[1]));
}

POLYTILE_EMULATOR_CALLED void __ubsan_handle_load_invalid_value(void *data, uintptr_t value) {
  using namespace polytile_emulator;
  const Description &about = *static_cast<Description *>(data);
  undefined_at(Check::undefined, about.place, POLYTILE_EMULATOR_RETURN, "%s is no value of %s",
               Value(*about.types[0], value).text(), name_of(*about.types[0]));
}

POLYTILE_EMULATOR_CALLED void __ubsan_handle_vla_bound_not_positive(void *data, uintptr_t bound) {
  using namespace polytile_emulator;
  const Description &about = *static_cast<Description *>(data);
  undefined_at(Check::undefined, about.place, POLYTILE_EMULATOR_RETURN, "an array of %s elements",
               Value(*about.types[0], bound).text());
}

POLYTILE_EMULATOR_CALLED void __ubsan_handle_pointer_overflow(void *data, uintptr_t base, uintptr_t result) {
  using namespace polytile_emulator;
  undefined_at(Check::undefined, static_cast<PlainDescription *>(data)->place, POLYTILE_EMULATOR_RETURN,
               "pointer arithmetic from 0x%llx ends at 0x%llx", static_cast<unsigned long long>(base),
               static_cast<unsigned long long>(result));
}

POLYTILE_EMULATOR_CALLED void __ubsan_handle_invalid_builtin(void *data) {
  using namespace polytile_emulator;
  undefined_at(Check::undefined, static_cast<PlainDescription *>(data)->place, POLYTILE_EMULATOR_RETURN,
               "the bits of 0 are counted where they may not be");
}

#define POLYTILE_EMULATOR_UNREACHED(name, text)                                                                   \
  POLYTILE_EMULATOR_CALLED void __ubsan_handle_##name(void *data) {                                               \
    using namespace polytile_emulator;                                                                            \
    undefined_at(Check::undefined, static_cast<PlainDescription *>(data)->place, POLYTILE_EMULATOR_RETURN, text); \
    end_kernel();                                                                                                 \
    abort();                                                                                                      \
  }

POLYTILE_EMULATOR_UNREACHED(builtin_unreachable, "a place that is said to be unreachable is reached")
POLYTILE_EMULATOR_UNREACHED(missing_return, "a function ends without returning its value")

#undef POLYTILE_EMULATOR_UNREACHED
#undef POLYTILE_EMULATOR_OVERFLOW
#undef POLYTILE_EMULATOR_RETURN
#undef POLYTILE_EMULATOR_CALLED

#endif
