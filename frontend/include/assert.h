#ifndef POLYTILE_ASSERT_H
#define POLYTILE_ASSERT_H
void assert(int condition);
#define static_assert _Static_assert
#endif
