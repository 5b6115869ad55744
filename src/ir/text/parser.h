// Parser of the text form, one function per rule of the grammar (docs/ir.md). parse.cpp has programs,
// parse_method.cpp methods and nodes, parse_literal.cpp literals and types, parse_data.cpp constants, blobs
// and delegates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "depute/program/text.h"
#include "ir/text/lexer.h"

namespace depute::text {

// Reads the numbers behind the text of the compact form. Returns false or nullopt at the end and for invalid
// data.
class Numbers {
 public:
  explicit Numbers(std::string_view bytes) : bytes_(bytes) {}
  bool number(std::uint64_t& number);
  std::optional<std::string_view> text();  // reads a length and that many bytes
  bool at_end() const { return at_ == bytes_.size(); }
  std::size_t rest() const { return bytes_.size() - at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& file_name, std::shared_ptr<const OpTable> ops)
      : in_(text, file_name), ops_(std::move(ops)) {}
  Parser(std::string_view text, const std::string& file_name, std::shared_ptr<const OpTable> ops,
         const Numbers& numbers)
      : in_(text, file_name), ops_(std::move(ops)), compact_(std::make_unique<Compact>(numbers, *ops_)) {}

  Result<Program> whole();
  Result<Program> whole_compact();

 private:
  // --- programs
  // Names of a program during parsing.
  struct ProgramScope {
    explicit ProgramScope(std::shared_ptr<const OpTable> ops) : program(std::move(ops)) {}
    Program program;
    std::unordered_set<Name> methods;
    std::unordered_set<Name> delegates;
    std::vector<std::pair<Name, std::size_t>> delegate_uses;  // name, position
  };
  Status items(ProgramScope& scope, char end);
  Status item(ProgramScope& scope, std::string_view word);
  Status dim(Ranges& ranges);
  Result<std::int64_t> bound();

  // --- methods
  // A literal @name or delegate("name") of a node, in text order. Whether it is a graph or a delegate is
  // decided when all graphs of the method are known.
  struct Reference {
    Name name;
    std::size_t position;
    bool may_be_graph;
  };
  // Values of a graph during parsing.
  struct GraphScope {
    Graph* graph = nullptr;
    std::unordered_map<Name, Value*> values;
    std::vector<Argument> outputs;
    std::vector<OutputSpec> output_specs;
  };
  struct MethodScope {
    Method* method = nullptr;
    std::unordered_map<Name, Graph*> bodies;
    std::vector<std::pair<Node*, std::vector<Reference>>> references;
  };
  Status method(ProgramScope& scope);
  Status statements(MethodScope& method, GraphScope& scope);
  Result<bool> method_statement(MethodScope& method, GraphScope& scope);
  Status body(MethodScope& method);
  Status inputs(MethodScope* method, GraphScope& scope);
  Result<InputSpec> role(GraphScope& scope);
  Status store(GraphScope& scope);
  Result<Argument> output_value(GraphScope& scope);
  Status output(GraphScope& scope);
  Status return_values(GraphScope& scope);
  Status node(MethodScope& method, GraphScope& scope);
  Result<std::vector<ResultSpec>> results();
  Result<Name> op();
  Status arguments(GraphScope& scope);
  Status attributes(Node& node);
  Result<const SourceLocation*> source(Graph& graph);
  Status origins(Node& node);
  static void resolve_references(ProgramScope& scope, const MethodScope& method);

  // --- the compact form (parse_compact.cpp)
  struct CompactLine {
    const Node* node;
    std::vector<Reference> references;
    std::size_t length;
  };
  struct Compact {
    Compact(const Numbers& all, const OpTable& ops) : numbers(all), lines_graph({}, ops) {}
    Numbers numbers;
    Graph lines_graph;
    std::vector<CompactLine> lines;
    std::uint64_t copied_bytes = 0;  // expanded bytes of lines
    std::vector<ResultSpec> specs;   // results of the current node
    std::vector<Value*> operands;
  };
  Status compact_lines();
  Status compact_nodes(MethodScope& method, GraphScope& scope);
  Status compact_node(MethodScope& method, GraphScope& scope, std::vector<Value*>& values);
  Node* copy_line(const Node& line, Graph& graph);
  // Fails unless below `end`.
  Status take_number(std::uint64_t& number, std::uint64_t end, std::string_view what);

  // --- literals and types
  Result<Argument> literal(GraphScope& scope);
  Result<Argument> value_literal(const GraphScope& scope);
  Result<Argument> reference_literal();
  Result<Argument> enum_literal();
  Result<Argument> number_literal();
  Result<Argument> word_literal(GraphScope& scope);
  Result<Argument> complex_literal(GraphScope& scope);
  Result<Argument> list_literal(GraphScope& scope);
  Result<Argument> map_literal(GraphScope& scope);
  Result<Name> value_name();
  Result<Type> type();
  Result<Type> new_type();
  Result<TensorType> tensor_type(std::string_view dtype, std::size_t position);
  Status dims(Dims& dims);
  Result<SymInt> dim_expr();
  Result<const SymExpr*> expression();
  Status enter();  // one nesting level deeper, up to max_text_nesting
  void leave() { --nesting_; }

  // --- constants, blobs, delegates
  // Content of a tensor before the size of its storage is known.
  struct Content {
    enum class Kind : std::uint8_t { Zeros, Random, Storage };
    Kind kind = Kind::Storage;
    std::uint64_t seed = 0;
    std::shared_ptr<const Storage> storage;
  };
  Status data(Program& program);
  Result<Content> content(const Program& program, const TensorType& type);
  Result<Content> elements(ScalarType type);
  Status element(ScalarType type, std::vector<std::byte>& bytes);
  Result<std::shared_ptr<const Storage>> make_storage(const Content& content, const TensorData& data,
                                                      std::size_t position);
  Result<std::shared_ptr<const Storage>> bytes();
  Result<std::vector<std::byte>> hex();
  Result<std::shared_ptr<const Storage>> elided();
  Result<std::shared_ptr<const Storage>> file();
  Status delegate(ProgramScope& scope);
  Status delegate_entry(Delegate& delegate, std::string_view word);
  Status named_data(Delegate& delegate);
  Status debug_handles(Delegate& delegate);
  Status original(Delegate& delegate);
  Result<std::uint32_t> handle();

  Lexer in_;
  std::shared_ptr<const OpTable> ops_;
  std::unique_ptr<Compact> compact_;  // null for text
  int nesting_ = 0;
  std::unordered_map<std::string_view, Type> types_;  // by text
  std::size_t random_bytes_ = 0;                      // requested so far
  // By name; each file is mapped once.
  std::unordered_map<std::string, std::shared_ptr<const MappedFile>> files_;

  // Parts of the current node; members in order to reuse their memory.
  std::vector<Argument> args_;
  std::vector<NamedArgument> kwargs_;
  std::vector<Reference> references_;
};

}  // namespace depute::text
