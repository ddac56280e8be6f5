// Misuse as findings.
#ifndef POLYTILE_EMULATOR_MISUSED_H
#define POLYTILE_EMULATOR_MISUSED_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

POLYTILE_EMULATOR_QUIET inline void record_misuse(Misuse kind, const Site &site, const char *text) {
  const Check check = kind == Misuse::order ? Check::race : Check::undefined;
  Finding *const finding = findings.add(check, Memory::none, offset_of(site.where), 0);
  if (!finding) return;
  fill_place(*finding, AccessKind::read);
  finding->line = site.line;
  snprintf(finding->file, sizeof finding->file, "%s", site.file);
  snprintf(finding->text, sizeof finding->text, "%s", text);
}

}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
