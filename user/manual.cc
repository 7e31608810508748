// SPDX-License-Identifier: Apache-2.0
#include "manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

namespace delaycc {
namespace {

// Those that help shows.
std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& app, bool positional) {
  return app.get_options([&](const CLI::Option* option) {
    return option->get_positional() == positional && !option->get_group().empty();
  });
}

// Every spelling: "-h", "--help".
std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// How many words after the option are its values.
int value_words(const CLI::Option& option) {
  return std::clamp(option.get_allow_extra_args() ? option.get_items_expected_max()
                                                  : option.get_items_expected_min(),
                    1, 1000);
}

// What CLI11 shows of an option's type, as "INT:INT in [1 - 9]", "TEXT:{a,b}" or "FOLDER".
struct ValueType {
  std::string name;
  std::vector<std::string> choices;
  std::string low, high;
};

ValueType value_type(const CLI::Option& option) {
  const std::string text = option.get_type_name();
  ValueType type;
  type.name = text.substr(0, text.find(':'));
  const size_t open = text.find('{');
  const size_t close = text.find('}');
  if (open != std::string::npos && close != std::string::npos)
    type.choices = CLI::detail::split(text.substr(open + 1, close - open - 1), ',');
  const size_t range = text.find(" in [");
  const size_t dash = text.find(" - ", range);
  if (range != std::string::npos && dash != std::string::npos) {
    type.low = text.substr(range + 5, dash - range - 5);
    type.high = text.substr(dash + 3, text.find(']', dash) - dash - 3);
  }
  return type;
}

// As troff reads it back: no request at the beginning of a line, no escapes, hyphens that can be
// searched for. Help is wrapped by hand, troff fills lines itself.
std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool at_line_begin = out.empty();
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\n')
      out += ' ';
    else if (at_line_begin && (c == '.' || c == '\''))
      out += std::string("\\&") + c;
    else
      out += c;
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// "Choices: a, b." or "Range: 1 to 9.", on a line of its own; or nothing.
std::string allowed_values(const ValueType& type) {
  if (!type.choices.empty())
    return ".br\n" + troff(fmt::format("Choices: {}.", fmt::join(type.choices, ", "))) + "\n";
  if (!type.low.empty())
    return ".br\n" + troff(fmt::format("Range: {} to {}.", type.low, type.high)) + "\n";
  return "";
}

std::string man_option(const CLI::Option& option) {
  const ValueType type = value_type(option);
  std::string names;
  if (option.get_positional()) {
    names = "\\fI" + troff(option.get_name(true)) + "\\fR";
  } else {
    for (const std::string& spelling : spellings(option))
      names += (names.empty() ? "" : ", ") + ("\\fB" + troff(spelling) + "\\fR");
    for (int i = 0; takes_value(option) && i < value_words(option); i++)
      names += " \\fI" + troff(type.name) + "\\fR";
  }
  return ".TP\n" + names + "\n" + troff(option.get_description()) + "\n" + allowed_values(type);
}

std::string man_subcommand(const CLI::App& app, const CLI::App& sub) {
  std::string text = ".SS " + troff(sub.get_name()) + "\n" + ".B " +
                     troff(app.get_name() + " " + sub.get_name()) + "\n[\\fIOPTIONS\\fR]\n";
  for (const CLI::Option* positional : options_of(sub, true)) {
    const bool many = value_words(*positional) > 1;
    text += "\\fI" + troff(positional->get_name(true)) + "\\fR" + (many ? " ...\n" : "\n");
  }
  text += ".PP\n" + troff(sub.get_description()) + "\n";
  for (const bool positional : {true, false})
    for (const CLI::Option* option : options_of(sub, positional)) text += man_option(*option);
  return text;
}

// The calls of the script that complete a value of this type; none where nobody knows what comes.
std::vector<std::string> completion_of(const ValueType& type) {
  for (const NameKind& kind : kNameKinds) {
    if (type.name == kind.values) return {std::string("_delaycc_list_last ") + kind.list};
    if (type.name != kind.value) continue;
    std::vector<std::string> calls = {std::string("_delaycc_list ") + kind.list};
    if (type.name == kScenarios.value) calls.push_back("_delaycc_files -f -X '!*.toml'");
    return calls;
  }
  if (type.name == kFolder) return {"_delaycc_files -d"};
  if (!type.choices.empty())
    return {fmt::format("_delaycc_match {}", fmt::join(type.choices, " "))};
  return {};
}

constexpr char kScriptBegin[] =
    R"(# bash completion of delaycc, written by `delaycc completion bash`.
# To load it: source <(delaycc completion bash)

# The functions below use cur and program of _delaycc.
_delaycc_match() { # WORD...
	local word
	for word; do
		[[ $word == "$cur"* ]] && COMPREPLY+=("$word")
	done
}

_delaycc_names() { # LIST
	local name rest
	"$program" list "$1" 2>/dev/null | while read -r name rest; do printf '%s\n' "$name"; done
}

_delaycc_list() { # LIST
	local names
	mapfile -t names < <(_delaycc_names "$1")
	_delaycc_match "${names[@]}"
}

# The last of names with commas between.
_delaycc_list_last() { # LIST
	local names before=
	[[ $cur == *,* ]] && before=${cur%,*},
	mapfile -t names < <(_delaycc_names "$1")
	_delaycc_match "${names[@]/#/$before}"
}

_delaycc_files() { # OPTION... of compgen
	local files
	mapfile -t files < <(compgen "$@" -- "$cur")
	[[ $1 == -d ]] || mapfile -t -O "${#files[@]}" files < <(compgen -d -- "$cur")
	COMPREPLY+=("${files[@]}")
	# Outside of a completion there is nothing to set.
	((${#files[@]})) && compopt -o filenames 2>/dev/null
}

_delaycc() {
	local cur=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]/#\~/$HOME} command='' option='' i
	local -i distance=0
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
)";

constexpr char kScriptOption[] = R"(			command=${COMP_WORDS[i]}
			break
			;;
		esac
	done
	# bash takes --option=value apart into three words, and also the value a=b.
	if [[ $cur == "=" ]]; then
		cur=
		[[ ${COMP_WORDS[COMP_CWORD - 1]} == -* ]] || return
	elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == "=" ]]; then
		[[ ${COMP_WORDS[COMP_CWORD - 2]} == -* ]] || return
	fi
	for ((i = COMP_CWORD - 1; i > 0; i--)); do
		[[ ${COMP_WORDS[i]} == "=" ]] && continue
		distance+=1
		if [[ ${COMP_WORDS[i]} == -* ]]; then
			option=${COMP_WORDS[i]}
			break
		fi
	done
	case "$command $option" in
)";

constexpr char kScriptCommand[] = R"(	esac
	case $command in
)";

constexpr char kScriptEnd[] = R"(	esac
}

complete -F _delaycc delaycc
)";

// The options of all commands that take as many words and complete them alike:
// patterns such as "run --cc".
using ByValue = std::map<std::pair<int, std::vector<std::string>>, std::vector<std::string>>;

std::string lines(const std::string& indent, const std::vector<std::string>& calls) {
  std::string text;
  for (const std::string& call : calls) text += indent + call + "\n";
  return text;
}

// Adds the options of one command ("" is delaycc itself) to `by_value`. Returns the script's case
// for words that are no option's value; `calls` complete what is no option.
std::string command_case(const CLI::App& app, const std::string& command,
                         const std::vector<std::string>& calls, ByValue* by_value) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(app, false))
    for (const std::string& spelling : spellings(*option)) {
      names.push_back(spelling);
      if (!takes_value(*option)) continue;
      (*by_value)[{value_words(*option), completion_of(value_type(*option))}].push_back(
          fmt::format("\"{} {}\"", command, spelling));
    }
  const std::string options = fmt::format("_delaycc_match {}", fmt::join(names, " "));
  const std::string body = calls.empty()
                               ? lines("\t\t", {options})
                               : "\t\tif [[ $cur == -* ]]; then\n" + lines("\t\t\t", {options}) +
                                     "\t\telse\n" + lines("\t\t\t", calls) + "\t\tfi\n";
  return fmt::format("\t{})\n{}\t\t;;\n", command.empty() ? "''" : command, body);
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& version,
                     const std::vector<ExitCode>& exit_codes) {
  const std::string description = app.get_description();
  const size_t colon = description.find(": ");
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"{}\" \"User Commands\"\n"
      ".SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n.B {}\n\\fISUBCOMMAND\\fR [\\fIOPTIONS\\fR]\n",
      upper(app.get_name()), troff(version), app.get_name(),
      troff(colon == std::string::npos ? description : description.substr(colon + 2)),
      app.get_name());
  text += ".SH OPTIONS\n";
  for (const CLI::Option* option : options_of(app, false)) text += man_option(*option);
  text += ".SH SUBCOMMANDS\n";
  for (const CLI::App* sub : subcommands_of(app)) text += man_subcommand(app, *sub);
  text += ".SH EXIT STATUS\n";
  for (const ExitCode& code : exit_codes)
    text += fmt::format(".TP\n.B {}\n{}\n", code.code, troff(code.meaning));
  return text;
}

std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> names;
  std::string commands;
  ByValue by_value;
  for (const CLI::App* sub : subcommands_of(app)) {
    names.push_back(sub->get_name());
    const std::vector<const CLI::Option*> positionals = options_of(*sub, true);
    commands += command_case(*sub, sub->get_name(),
                             positionals.empty() ? std::vector<std::string>()
                                                 : completion_of(value_type(*positionals.front())),
                             &by_value);
  }
  commands +=
      command_case(app, "", {fmt::format("_delaycc_match {}", fmt::join(names, " "))}, &by_value);
  std::string options;
  for (const auto& [value, patterns] : by_value)
    options +=
        fmt::format("\t{})\n\t\tif ((distance <= {})); then\n{}\t\t\treturn\n\t\tfi\n\t\t;;\n",
                    fmt::join(patterns, " | "), value.first, lines("\t\t\t", value.second));
  return kScriptBegin + fmt::format("\t\t{})\n", fmt::join(names, " | ")) + kScriptOption +
         options + kScriptCommand + commands + kScriptEnd;
}

}  // namespace delaycc
