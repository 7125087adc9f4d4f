# Makes small IDX files for the cases: images FILE COUNT (2x2 pixels, COUNT at most 7), labels FILE DIGIT...
images() {
  { printf "\000\000\010\003\000\000\000\00$2\000\000\000\002\000\000\000\002"; head -c $(($2 * 4)) /dev/zero | tr '\000' '\007'; } > "$1"
}
labels() {
  file=$1; shift
  { printf "\000\000\010\001\000\000\000\00$#"; for digit; do printf "\00$digit"; done; } > "$file"
}
