// OpenGL and windowing names that interop samples use in host code; declared only.
#pragma once
typedef unsigned GLuint; typedef int GLint; typedef unsigned GLenum; typedef int GLsizei; typedef float GLfloat; typedef unsigned char GLubyte; typedef double GLdouble; typedef unsigned GLbitfield; typedef bool GLboolean; typedef unsigned short GLushort; typedef signed char GLbyte; typedef char GLchar; typedef void GLvoid;
