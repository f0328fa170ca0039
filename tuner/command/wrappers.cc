#include "tuner/command/wrappers.h"

#include <algorithm>
#include <array>

namespace hocket {
namespace {

constexpr std::string_view kTorchrunOptions =
    "--nnodes --nproc-per-node --rdzv-backend --rdzv-endpoint --rdzv-id --rdzv-conf --max-restarts "
    "--monitor-interval --start-method --event-log-handler --role --log-dir -r --redirects -t "
    "--tee "
    "--local-ranks-filter --node-rank --master-addr --master-port --local-addr --logs-specs "
    "--numa-binding";

constexpr std::string_view kAccelerateOptions =
    "--config-file --num-processes --num-machines --num-cpu-threads-per-process --mixed-precision "
    "--machine-rank --main-process-ip --main-process-port --gpu-ids --dynamo-backend --dynamo-mode "
    "--rdzv-backend --rdzv-conf --max-restarts --monitor-interval --tee --role --log-dir "
    "--deepspeed-config-file --zero-stage --offload-optimizer-device --offload-param-device "
    "--gradient-accumulation-steps --gradient-clipping --zero3-init-flag --zero3-save-16bit-model "
    "--deepspeed-hostfile --deepspeed-multinode-launcher --deepspeed-exclusion-filter "
    "--deepspeed-inclusion-filter --fsdp-version --fsdp-sharding-strategy "
    "--fsdp-auto-wrap-policy --fsdp-transformer-layer-cls-to-wrap --fsdp-min-num-params "
    "--fsdp-state-dict-type --fsdp-backward-prefetch --fsdp-offload-params";

constexpr std::string_view kDeepspeedOptions =
    "-H --hostfile -i --include -e --exclude --num-nodes --min-elastic-nodes --max-elastic-nodes "
    "--num-gpus --num-accelerators --master-port --master-addr --node-rank --launcher "
    "--launcher-args --autotuning --bind-core-list --ssh-port --world-info --procs-per-node";

constexpr std::string_view kHorovodOptions =
    "-np --num-proc -H --hosts --hostfile -hostfile -p --ssh-port --ssh-identity-file "
    "--network-interface --network-interfaces --output-filename --config-file "
    "--fusion-threshold-mb --cycle-time-ms --cache-capacity --start-timeout --min-np --max-np "
    "--host-discovery-script --slots-per-host --mpi-args --timeline-filename --log-level "
    "--autotune-log-file --gloo-timeout-seconds --thread-affinity --reset-limit";

constexpr std::string_view kMpirunOptions =
    "-n -np --np -c -N --npernode -npernode --ppn -ppn -H --host -host --hosts -hosts -hostfile "
    "--hostfile -machinefile --machinefile -f -x --map-by -map-by --bind-to -bind-to --rank-by "
    "-rank-by -rf --rankfile --prefix --output-filename --tag-output-to --timeout --mca* -mca* "
    "--gmca* -gmca* --pmixmca* --prtemca* -env* -genv* -genvlist -envlist -wdir --wdir -wd --wd "
    "-path --path --tune -iface -launcher -rmk --allocation -perhost";

constexpr std::string_view kSrunOptions =
    "-n --ntasks -N --nodes -c --cpus-per-task -p --partition -A --account -t --time -J --job-name "
    "-o --output -e --error -i --input -w --nodelist -x --exclude -G --gpus --gpus-per-node "
    "--gpus-per-task --ntasks-per-node --mem --mem-per-cpu --mem-per-gpu --gres -C --constraint "
    "-q --qos -D --chdir -m --distribution --mpi --cpu-bind --gpu-bind --mem-bind --export "
    "--reservation --jobid -K -d --dependency --hint --cpu-freq --container-image "
    "--container-mounts --container-workdir -r --relative -T --threads -M --clusters --comment";

constexpr std::string_view kCoverageOptions =
    "--rcfile --source --include --omit --data-file --context";

constexpr std::string_view kProfilerOptions =
    "-o --outfile --output-file -s --setup --sort -p --prof-mod";

constexpr std::array kWrappers = {
    CommandWrapper{"hocket", "run", "--ranks", "", 0, WrappedKind::command, "--ranks"},
    CommandWrapper{"hocket", "with",
                   "--workload --study --store --daemon --topology --world-size --link"},
    CommandWrapper{"hocket", "torch", "--daemon --explore --store"},
    CommandWrapper{"env", "", "-u --unset -C --chdir", "-C --chdir"},
    CommandWrapper{"nice", "", "-n --adjustment"},
    CommandWrapper{"ionice", "", "-c --class -n --classdata"},
    CommandWrapper{"time gtime", "", "-f --format -o --output"},
    CommandWrapper{"timeout", "", "-s --signal -k --kill-after", "", 1},
    CommandWrapper{"nohup setsid exec command builtin catchsegv unbuffer doas chronic", "",
                   "-a -u -C"},
    CommandWrapper{"stdbuf", "", "-i --input -o --output -e --error"},
    CommandWrapper{"sudo", "", "-u --user -g --group -h --host -p --prompt -C -D --chdir -r --role",
                   "-D --chdir"},
    CommandWrapper{"chrt", "", "-T -P -D", "", 1},
    CommandWrapper{"taskset", "", "", "", 1},
    CommandWrapper{"flock", "", "-w --timeout -E", "", 1},
    CommandWrapper{
        "numactl", "",
        "-i --interleave -w --weighted-interleave -N --cpunodebind -C --physcpubind -m "
        "--membind -p --preferred -P --preferred-many -S --shmid -L --length -o --offset -f "
        "--file"},
    CommandWrapper{"cgexec", "", "-g"},
    CommandWrapper{
        "systemd-run", "",
        "-p --property -u --unit -E --setenv --slice --nice --uid --gid -d --working-directory "
        "--description -M --machine -H --host",
        "--working-directory"},
    CommandWrapper{"xvfb-run", "",
                   "-n --server-num -s --server-args -f --auth-file -e --error-file"},
    CommandWrapper{"strace ltrace", "", "-o -e -s -p -E -u -P -a -S"},
    CommandWrapper{"valgrind", "", ""},
    CommandWrapper{"perf", "stat record",
                   "-e --event -o --output -F --freq -c --count -r --repeat -C "
                   "--cpu -D --delay --call-graph"},
    CommandWrapper{"nsys", "profile launch",
                   "-o --output -t --trace -s --sample -d --duration -y --delay -c --capture-range "
                   "--capture-range-end -b --backtrace -w --show-output -x --stop-on-exit -f "
                   "--force-overwrite -e --env-var --stats --session-new"},
    CommandWrapper{"ncu", "",
                   "-o --export -k --kernel-name -c --launch-count -s --launch-skip --set "
                   "--section --metrics -f"},
    CommandWrapper{"py-spy", "record top", "-o --output -r --rate -d --duration -f --format"},
    CommandWrapper{"compute-sanitizer", "", "--tool --log-file"},
    CommandWrapper{"uv", "run",
                   "--with --python -p --package --extra --group --project --directory "
                   "--env-file --index --refresh-package",
                   "--directory"},
    CommandWrapper{"poetry pipenv pixi hatch pdm rye", "run", "-C --directory --project -P -e",
                   "-C --directory"},
    CommandWrapper{"conda mamba micromamba", "run", "-n --name -p --prefix --cwd", "--cwd"},
    CommandWrapper{"apptainer singularity", "exec",
                   "-B --bind --env --env-file -H --home --pwd -W --workdir --overlay", "--pwd", 1},
    CommandWrapper{"mpirun mpiexec mpiexec.hydra orterun prterun prun", "", kMpirunOptions,
                   "-wdir --wdir -wd --wd", 0, WrappedKind::command, "-n -np --np -c"},
    CommandWrapper{"srun", "", kSrunOptions, "-D --chdir", 0, WrappedKind::command, "-n --ntasks"},
    CommandWrapper{"aprun jsrun", "", "-n -N -d -S -j --nrs --tasks-per-rs --gpu-per-rs"},
    CommandWrapper{"horovodrun", "", kHorovodOptions, "", 0, WrappedKind::command,
                   "-np --num-proc"},
    CommandWrapper{"torchrun", "", kTorchrunOptions, "", 0, WrappedKind::python,
                   "--nnodes --nproc-per-node"},
    CommandWrapper{"accelerate", "launch", kAccelerateOptions, "", 0, WrappedKind::python,
                   "--num-processes"},
    CommandWrapper{"accelerate-launch", "", kAccelerateOptions, "", 0, WrappedKind::python,
                   "--num-processes"},
    CommandWrapper{"deepspeed", "", kDeepspeedOptions, "", 0, WrappedKind::python,
                   "--num-nodes --num-gpus"},
    CommandWrapper{"coverage", "run", kCoverageOptions, "", 0, WrappedKind::python},
    CommandWrapper{"kernprof viztracer scalene", "", kProfilerOptions, "", 0, WrappedKind::python},
};

/// Wrappers that are modules of Python.
constexpr std::array kModuleWrappers = {
    CommandWrapper{"torch.distributed.run torch.distributed.launch", "", kTorchrunOptions, "", 0,
                   WrappedKind::python, "--nnodes --nproc-per-node"},
    CommandWrapper{"accelerate.commands.launch", "", kAccelerateOptions, "", 0, WrappedKind::python,
                   "--num-processes"},
    CommandWrapper{"deepspeed deepspeed.launcher.runner deepspeed.launcher.launch", "",
                   kDeepspeedOptions, "", 0, WrappedKind::python, "--num-nodes --num-gpus"},
    CommandWrapper{"horovod.runner horovod.runner.launch", "", kHorovodOptions, "", 0,
                   WrappedKind::command, "-np --num-proc"},
    CommandWrapper{"coverage", "run", kCoverageOptions, "", 0, WrappedKind::python},
    CommandWrapper{
        "kernprof viztracer scalene line_profiler memory_profiler cProfile profile mpi4py", "",
        kProfilerOptions, "", 0, WrappedKind::python},
    CommandWrapper{"pdb", "", "-c", "", 0, WrappedKind::python},
    CommandWrapper{"debugpy", "", "--listen --connect --log-to", "", 0, WrappedKind::python},
};

constexpr std::array kInterpreters = {
    ScriptInterpreter{"python pypy ipython", "WXQ", "--check-hash-based-pycs", "c", "", "m"},
    ScriptInterpreter{"bash sh dash zsh ksh ash", "oO", "--rcfile --init-file", "c", "", "", true},
    ScriptInterpreter{"node nodejs", "rCi", "--require --import --loader --conditions", "ep",
                      "--eval --print"},
    ScriptInterpreter{"perl", "IMmFD", "", "eE", ""},
    ScriptInterpreter{"ruby", "IrCFEK", "", "e", ""},
    ScriptInterpreter{"php", "dcz", "--define", "rR", "--run"},
    ScriptInterpreter{"julia", "pLtJCg",
                      "--threads --procs --project --sysimage --load --check-bounds", "eE",
                      "--eval --print"},
    ScriptInterpreter{"Rscript", "", "", "e", ""},
    ScriptInterpreter{"lua luajit", "l", "", "e", ""},
    ScriptInterpreter{"tclsh wish octave gnuplot", "", "", "", "--eval"},
};

}  // namespace

std::span<const CommandWrapper> wrappers() {
  return kWrappers;
}

std::span<const ScriptInterpreter> interpreters() {
  return kInterpreters;
}

const CommandWrapper* module_wrapper(std::string_view module) {
  const auto found = std::ranges::find_if(kModuleWrappers, [&](const CommandWrapper& wrapper) {
    return is_among(wrapper.names, module);
  });
  return found == kModuleWrappers.end() ? nullptr : &*found;
}

bool is_among(std::string_view list, std::string_view word) {
  if (word.empty()) return false;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(' ', begin), list.size());
    if (list.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace hocket
