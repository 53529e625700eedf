// hypot and hypotf as glibc had them before 2.35, so that a program that was linked on a newer system runs on an older one
// (Scripts/build-static wraps both). The newer ones only differ in errno.
#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST "GLIBC_2.17"
#endif

#ifdef FIRST
__asm__(".symver older_hypot, hypot@" FIRST);
__asm__(".symver older_hypotf, hypotf@" FIRST);
#else
#define older_hypot __real_hypot
#define older_hypotf __real_hypotf
#endif

extern double older_hypot(double, double);
extern float older_hypotf(float, float);

double __wrap_hypot(double a, double b) { return older_hypot(a, b); }
float __wrap_hypotf(float a, float b) { return older_hypotf(a, b); }
