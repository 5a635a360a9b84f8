"""The clang layer: from a `.cu` path to a syntax tree. What the lowering needs to know:

Start      `unit = parse_cuda(path, options)`. `unit.recovered` says what was made up, `unit.diagnostics`
           what was lost. Ask both.
Nodes      `node.kind` and `type.kind` are ints that compare with `CursorKind` / `TypeKind`. `children` is
           cached per node object, so keep the object. `node.line` is the expansion line: in a macro, where
           it is used. A node of line 0 or of another file (`not unit.is_in_file(node)`) is implicit or out
           of a header.
Casts      An implicit cast is an UNEXPOSED_EXPR of one child; its type is the type after the cast, so
           int->float shows as two types, one below the other.
           Explicit casts are CSTYLE_CAST_EXPR, CXX_STATIC_CAST_EXPR, CXX_FUNCTIONAL_CAST_EXPR... whose
           first child may be a TYPE_REF.
Built-ins  A call of a FUNCTION_DECL with `unit.is_builtin(declaration)`: go by its name. None has a body.
           `threadIdx.x` is a MEMBER_REF_EXPR `x` over a DECL_REF_EXPR `threadIdx`; blockDim and gridDim are
           dim3. __syncthreads is a clang built-in (path None counts as built-in too). cub and
           cooperative-groups members are CXX_METHODs; constructors of dim3, complex numbers and half are
           CALL_EXPRs that name a CONSTRUCTOR. Half arithmetic is a CALL_EXPR of `operator+` (children:
           left, operator reference, right); copying a half or a vector type may be a CALL_EXPR of
           `operator=` or of a CONSTRUCTOR.
Launch     A CALL_EXPR whose second child is a CALL_EXPR of `cudaConfigureCall` with grid, block, shared
           bytes, stream. Defaulted arguments lie on line 0. An int grid is wrapped in a CALL_EXPR of dim3's
           constructor: evaluate its arguments, of which defaulted ones (line 0) are 1.
Templates  What a launch of a template names is the *instance* (FUNCTION_DECL, `.template` is not None),
           with sizes, types and `if constexpr` resolved; the root lists instances beside the
           FUNCTION_TEMPLATE, all with the same place. Bodies of templates are dependent: `a * b` may be a
           CALL_EXPR without referent.
Attributes Children of the declaration (CUDAGLOBAL_ATTR, CUDASHARED_ATTR ...); those clang does not show
           (`__managed__`, `__launch_bounds__`) the prelude repeats as ANNOTATE_ATTR. Dynamic shared memory
           is `extern __shared__` (INCOMPLETEARRAY type).
Loops      FOR_STMT children are positional with gaps (init; condition; step; body), so three children are
           ambiguous: compare `child.start.offset` with the positions of the two `;` in `unit.source`. The
           body is always last. `#pragma unroll N`: the loop sits in an UNEXPOSED_STMT; the number is only in
           `function.printed`.
Constants  `node.evaluate()`: constexpr, const, enums, macros, sizeof. What rests on a made-up name
           (`unit.is_made_up`) is nonsense, array extents too.
Assembly   `asm` is an ASM_STMT whose children are the operands' expressions (outputs first); its text is
           in the source.
Holes      An undeclared *variable* deletes its whole statement without a trace in the tree, and leaves
           conditions without a child; what could not be typed is an UNEXPOSED_EXPR of type kind DEPENDENT.
           A launch inside a kernel (dynamic parallelism) is an error to clang 18: always a hole.
Depth      `walk` does not recurse. Chains of a few thousand operators pass the guards: recursion in Python
           must expect RecursionError, or flatten `a + b + c ...` first.
"""
