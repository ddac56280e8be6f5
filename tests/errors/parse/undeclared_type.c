// expect: 2:15: error: syntax error before 'a'
void f(real_t a);
