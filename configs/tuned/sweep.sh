#!/bin/sh
# Makes the tuning records of this folder again: configs/tuned/sweep.sh DEVICE [OUTPUT]
#
# The five models and a list of common shapes, in the types that DTYPES names, on DEVICE (cuda:0, vulkan:0).
# SECONDS_MODELS and SECONDS_SHAPES are the budgets of one type; tcc-tune must be on PATH.
set -eu
device=${1:?usage: sweep.sh DEVICE [OUTPUT]}
cd "$(dirname "$0")/../.."
output=${2:-configs/tuned}
models_s=${SECONDS_MODELS:-120} shapes_s=${SECONDS_SHAPES:-40}
log=${LOG:-$(mktemp)}

tune() { tcc-tune "$@" --device "$device" --output "$output" --log "$log"; }
for dtype in ${DTYPES:-bf16 f32}; do
  tune configs/models/*.yaml --dtype "$dtype" --budget "$models_s"
  tune configs/shapes/linear.yaml --dtype "$dtype" --budget "$shapes_s" \
    --dim M=1,16,128,1024 --dim N=1024,4096 --dim K=1024,4096
  tune configs/shapes/linear_bias_gelu.yaml --dtype "$dtype" --budget "$shapes_s" --dim M=128,1024 --dim N=4096 --dim K=1024
  tune configs/shapes/softmax.yaml configs/shapes/layer_norm.yaml --dtype "$dtype" --budget "$shapes_s" \
    --dim M=1024,16384 --dim N=768,1024,4096
  tune configs/shapes/attention.yaml --dtype "$dtype" --budget "$shapes_s" --dim B=1,4 --dim G=16 --dim R=1 \
    --dim Q=512,2048 --dim S=Q --dim D=64,128
  tune configs/shapes/attention.yaml --dtype "$dtype" --budget "$shapes_s" --dim B=1,16 --dim G=8 --dim R=4 \
    --dim Q=1 --dim S=4096,16384 --dim D=128
  tune configs/shapes/depthwise_3x3.yaml configs/shapes/depthwise_7x7.yaml --dtype "$dtype" --budget "$shapes_s" \
    --dim N=1,64 --dim H=14,28,56
  tune configs/shapes/lstm.yaml configs/shapes/gru.yaml --dtype "$dtype" --budget "$shapes_s" --dim T=128 --dim B=1,16
done
