#ifndef POLYTILE_STDALIGN_H
#define POLYTILE_STDALIGN_H
#define alignas _Alignas
#define alignof _Alignof
#endif
