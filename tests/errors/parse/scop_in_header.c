// expect: scop_in_header.h:3:9: error: '#pragma scop' in an included file
#include "scop_in_header.h"
