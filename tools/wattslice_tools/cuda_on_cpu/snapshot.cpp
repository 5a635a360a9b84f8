// Snapshots of launches: with CUDA_ON_CPU_SNAPSHOTS=DIRECTORY the first launches of each kernel
// (CUDA_ON_CPU_SNAPSHOTS_PER_KERNEL of them, 1 if that is not set) write DIRECTORY/NUMBER-KERNEL/ with
//   launch.json   kernel, grid, block, arguments in order, the objects in memory and where they lie,
//   before.bin    the bytes of all objects, one after another, before the launch,
//   after.bin     the same after it.
// Objects are the live allocations, the program's `__constant__` and `__device__` variables and the arrays
// behind texture objects.
#include "snapshot.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <sys/stat.h>

#include "launch.h"

namespace cuda_on_cpu {
namespace {

struct Object {
    const char* kind;
    std::string name;
    const void* address;
    size_t bytes;
};

// Not destroyed at exit: programs free memory that late, too.
auto& allocations = *new std::map<const void*, size_t>();
auto& textures = *new std::map<unsigned long long, TextureMemory>();
std::map<std::string, int>& launchesSeen() {
    static auto& seen = *new std::map<std::string, int>();
    return seen;
}
std::vector<Global>& globals() {  // registered before main, in any order
    static auto& all = *new std::vector<Global>();
    return all;
}

struct Recording {
    std::string directory, text;
    std::vector<Object> objects;
};
Recording recording;

int recorded = 0;

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return result + '"';
}

std::string hex(const void* value, size_t bytes) {
    std::string result;
    for (size_t i = 0; i < bytes; ++i) {
        char digits[3];
        snprintf(digits, sizeof digits, "%02x", static_cast<const unsigned char*>(value)[i]);
        result += digits;
    }
    return result;
}

template <class T>
std::string number(T value) {
    return std::to_string(static_cast<unsigned long long>(value));
}
std::string number(const void* address) { return number(reinterpret_cast<unsigned long long>(address)); }
std::string triple(const dim3& size) {
    return "[" + number(size.x) + ", " + number(size.y) + ", " + number(size.z) + "]";
}

[[noreturn]] void give_up(const std::string& what) {
    fprintf(stderr, "snapshot: %s\n", what.c_str());
    _Exit(3);
}

FILE* created(const char* name) {
    const std::string path = recording.directory + "/" + name;
    FILE* file = fopen(path.c_str(), "wb");
    if (file == nullptr) {
        give_up("cannot write " + path);
    }
    return file;
}

void writeObjects(const char* name) {
    FILE* file = created(name);
    for (const Object& object : recording.objects) {
        if (fwrite(object.address, 1, object.bytes, file) != object.bytes) {
            give_up("cannot write all of " + std::string(name));
        }
    }
    fclose(file);
}

std::vector<Object> objectsNow() {
    std::vector<Object> objects;
    for (const auto& [address, bytes] : allocations) {
        objects.push_back({"allocation", "", address, bytes});
    }
    for (const Global& global : globals()) {
        objects.push_back({"variable", global.name, global.address, global.bytes});
    }
    for (const auto& [object, texture] : textures) {
        if (texture.height > 0) {
            objects.push_back({"array", "", texture.address, texture.bytes});
        }
    }
    return objects;
}

const char* kindName(Argument::Kind kind) {
    static const char* const names[] = {"integer", "unsigned", "float", "pointer", "record"};
    return names[static_cast<int>(kind)];
}

}  // namespace

Global::Global(const char* globalName, const void* where, size_t size)
    : name(globalName), address(where), bytes(size) {
    globals().push_back(*this);
}

void allocated(const void* address, size_t bytes) { allocations[address] = bytes; }
bool freed(const void* address) { return allocations.erase(address) > 0; }
void textureCreated(const TextureMemory& texture) { textures[texture.object] = texture; }
void textureDestroyed(unsigned long long object) { textures.erase(object); }

bool beforeLaunch(const Configuration& configuration, const char* kernel, const std::vector<Argument>& arguments) {
    const char* root = getenv("CUDA_ON_CPU_SNAPSHOTS");
    if (root == nullptr || *root == '\0') {
        return false;
    }
    const char* limit = getenv("CUDA_ON_CPU_SNAPSHOTS_PER_KERNEL");
    if (launchesSeen()[kernel]++ >= (limit == nullptr ? 1 : atoi(limit))) {
        return false;
    }
    char prefix[16];
    snprintf(prefix, sizeof prefix, "/%04d-", recorded++);
    recording = {root + (prefix + std::string(kernel)), "", objectsNow()};
    mkdir(root, 0777);
    mkdir(recording.directory.c_str(), 0777);
    std::string& text = recording.text;
    text = "\"kernel\": " + quoted(kernel) + ",\n \"grid\": " + triple(configuration.grid) +
           ",\n \"block\": " + triple(configuration.block) + ",\n \"shared_bytes\": " +
           number(configuration.sharedBytes) + ",\n \"arguments\": [";
    const char* separator = "";
    for (const Argument& one : arguments) {
        text += std::string(separator) + "\n  {\"kind\": \"" + kindName(one.kind) + "\", \"hex\": \"" +
                hex(one.value, one.bytes) + "\"}";
        separator = ",";
    }
    text += "],\n \"objects\": [";
    separator = "";
    for (const Object& object : recording.objects) {
        text += std::string(separator) + "\n  {\"kind\": \"" + object.kind + "\", \"name\": " + quoted(object.name) +
                ", \"address\": " + number(object.address) + ", \"bytes\": " + number(object.bytes) + "}";
        separator = ",";
    }
    text += "],\n \"textures\": [";
    separator = "";
    for (const auto& [object, texture] : textures) {
        text += std::string(separator) + "\n  {\"object\": " + number(object) +
                ", \"address\": " + number(texture.address) + ", \"width\": " + number(texture.width) +
                ", \"height\": " + number(texture.height) + ", \"element_bytes\": " + number(texture.elementBytes) +
                ", \"address_modes\": [" + number(texture.addressModes[0]) + ", " + number(texture.addressModes[1]) +
                "]}";
        separator = ",";
    }
    text += "]";
    writeObjects("before.bin");
    signature = nullptr;
    return true;
}

void afterLaunch() {
    writeObjects("after.bin");
    FILE* file = created("launch.json");
    fprintf(file, "{\"signature\": %s,\n %s}\n", quoted(signature == nullptr ? "" : signature).c_str(),
            recording.text.c_str());
    fclose(file);
}

}  // namespace cuda_on_cpu
